from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Literal, overload

from tfgraphwidget import edits, runtime
from tfgraphwidget.graph import patterns
from tfgraphwidget.runtime import live
from tfgraphwidget.runtime.functions import ModuleCopy
from tfgraphwidget.tf_types import (
    DTypeLike,
    GraphLike,
    OpLike,
    OpsLike,
    SessionLike,
    TensorKey,
    TensorLike,
    TensorsLike,
    TensorSpec,
)

from .pass_values import Pass, Repeat, Sequential
from .state import EditorCore
from .traced_growth import GrowthResult

class EditMethods:
    @overload
    def clone(
        self,
        inputs: OpsLike | None = None,
        outputs: OpsLike | None = None,
        into: object = None,
        *,
        variables: object = "own",
        init: str | PathLike[str] | Mapping[TensorKey, object] = "current",
        replace: Mapping[TensorKey, object] | None = None,
        placeholders: bool = False,
        reseed: bool = False,
        times: None = None,
        device: str | Mapping[str, str] | None = None,
        devices: None = None,
        src_scope: str | None = None,
        graph: GraphLike | None = None,
        session: SessionLike | None = None,
    ) -> live.Copy | ModuleCopy | GrowthResult: ...
    @overload
    def clone(
        self,
        inputs: OpsLike | None = None,
        outputs: OpsLike | None = None,
        into: object = None,
        *,
        variables: object = "own",
        init: str | PathLike[str] | Mapping[TensorKey, object] = "current",
        replace: Mapping[TensorKey, object] | None = None,
        placeholders: bool = False,
        reseed: bool = False,
        times: int,
        device: str | Mapping[str, str] | None = None,
        devices: str | Iterable[str] | None = None,
        src_scope: str | None = None,
        graph: GraphLike | None = None,
        session: SessionLike | None = None,
    ) -> list[live.Copy | ModuleCopy | GrowthResult]: ...
    @overload
    def clone(
        self,
        inputs: OpsLike | None = None,
        outputs: OpsLike | None = None,
        into: object = None,
        *,
        variables: object = "own",
        init: str | PathLike[str] | Mapping[TensorKey, object] = "current",
        replace: Mapping[TensorKey, object] | None = None,
        placeholders: bool = False,
        reseed: bool = False,
        times: int | None = None,
        device: str | Mapping[str, str] | None = None,
        devices: str | Iterable[str],
        src_scope: str | None = None,
        graph: GraphLike | None = None,
        session: SessionLike | None = None,
    ) -> list[live.Copy | ModuleCopy | GrowthResult]: ...
    def add(
        self,
        source: object,
        into: str | None = None,
        connect: Mapping[TensorKey, TensorsLike] | None = None,
        *,
        clear_devices: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        tags: object = None,
        session: SessionLike | None = None,
    ) -> live.Copy | Any: ...
    def call(
        self, at: OpsLike, function: Callable[..., object], into: str | None = None
    ) -> GrowthResult: ...
    def reroute(
        self,
        old: TensorsLike,
        to: TensorsLike,
        *,
        only: OpsLike | None = None,
        never: OpsLike | None = None,
        adapter: Literal["Cast", "Reshape", "Transpose"] | None = None,
        names: str | Iterable[str] | None = None,
    ) -> edits.Edits: ...
    def swap(
        self,
        a: OpsLike,
        b: OpsLike,
        what: Literal["inputs", "outputs", "both"] = "outputs",
        *,
        only: OpsLike | None = None,
        never: OpsLike | None = None,
        adapter: Literal["Cast", "Reshape", "Transpose"] | None = None,
        names: str | Iterable[str] | None = None,
    ) -> edits.Edits: ...
    def connect(
        self,
        source: TensorsLike,
        target: OpsLike,
        k: int | None = None,
        *,
        adapter: Literal["Cast", "Reshape", "Transpose"] | None = None,
        names: str | Iterable[str] | None = None,
    ) -> edits.Edits: ...
    def bypass(
        self,
        what: OpsLike,
        by: object = None,
        *,
        adapter: Literal["Cast", "Reshape", "Transpose"] | None = None,
        names: str | Iterable[str] | None = None,
        gradients: bool = False,
    ) -> edits.Edits: ...
    def detach(
        self,
        what: OpsLike,
        *,
        inputs: bool = True,
        outputs: bool = True,
        control: bool = False,
        names: str | Iterable[str] | None = None,
    ) -> edits.Edits: ...
    def add_control_inputs(self, op: OpLike, ops: OpsLike) -> edits.Edits: ...
    def remove_control_inputs(self, op: OpLike, ops: OpsLike) -> edits.Edits: ...
    def insert(
        self,
        at: TensorsLike,
        function: object,
        into: str | None = None,
        *,
        only: OpsLike | None = None,
        never: OpsLike | None = None,
        name: str | None = None,
        spec: TensorSpec | None = None,
        attributes: Mapping[str, object] | None = None,
        options: Mapping[str, object] | None = None,
        **more: object,
    ) -> edits.Edits: ...
    def replace(
        self,
        what: OpsLike,
        by: object,
        into: str | None = None,
        *,
        name: str | None = None,
        outputs: Mapping[TensorKey, TensorLike] | None = None,
        remove: bool = False,
        attributes: Mapping[str, object] | None = None,
        **more: object,
    ) -> edits.Edits: ...
    def remove(
        self, what: OpsLike, *, prune: bool = True, consumers: bool = False
    ) -> edits.Edits: ...
    def replace_all(
        self,
        pattern: str | patterns.Pattern | Callable[..., object],
        by: str | Callable[..., object],
        into: str | None = None,
        *,
        within: OpsLike | None = None,
        where: Callable[[patterns.Match], object] | None = None,
        until: Literal["once", "fixed"] = "once",
        effects: bool = False,
        functions: bool = False,
    ) -> edits.Edits: ...
    def rename(self, old: OpLike, new: str) -> edits.Edits: ...
    def set_device(self, what: OpsLike, device: str | None) -> edits.Edits: ...
    def set_attr(self, op: OpLike, name: str, value: object) -> edits.Edits: ...
    def set_constant(self, tensor: TensorLike, value: object) -> edits.Edits: ...
    def set_trainable(self, *which: OpsLike) -> edits.Edits: ...
    def freeze(
        self,
        outputs: OpsLike | None = None,
        inputs: TensorsLike | None = None,
        *,
        updates: Literal["refuse", "keep", "drop"] = "refuse",
        inline: bool = False,
        lower_control_flow: bool = False,
    ) -> edits.Edits: ...

class SignatureMethods:
    def add(self, name: str, inputs: object = None, outputs: object = None) -> live.Copy | Any: ...
    def rename(self, name: str, new: str) -> edits.Edits: ...
    def reorder(
        self,
        name: str,
        inputs: str | Iterable[str] | Mapping[str, str] | None = None,
        outputs: str | Iterable[str] | Mapping[str, str] | None = None,
    ) -> edits.Edits: ...
    def remove(self, name: str) -> edits.Edits: ...

class Passes:
    def __init__(self, core: EditorCore, editor: Any) -> None: ...
    def grappler(self, outputs: TensorsLike | None = None) -> runtime.measure.OptimizedGraph: ...
    def strip_training(self, outputs: OpsLike | None = None) -> edits.Edits: ...
    def remove_identities(
        self,
        also: str | Iterable[str] | None = None,
        *,
        keep: OpsLike | None = None,
        functions: bool = True,
    ) -> edits.Edits: ...
    def merge_duplicates(
        self, *, keep: OpsLike | None = None, functions: bool = True
    ) -> edits.Edits: ...
    def fold_batch_norm(self, what: OpsLike | None = None) -> edits.Edits: ...
    def fold_constants(
        self,
        limit: int = 102400,
        *,
        shapes: bool = True,
        keep: OpsLike | None = None,
        functions: bool = True,
    ) -> edits.Edits: ...
    def remove_devices(self, *, functions: bool = True) -> edits.Edits: ...
    def remove_attr(
        self, name: str, what: OpsLike | None = None, *, functions: bool = True
    ) -> edits.Edits: ...
    def remove_collection(self, *keys: str) -> edits.Edits: ...
    def remove_functions(self, /) -> edits.Edits: ...
    def rename_type(self, old: str, new: str, *, functions: bool = True) -> edits.Edits: ...
    def sort(self, /) -> edits.Edits: ...
    def obfuscate_names(self, *, contents: bool = False) -> edits.Edits: ...
    def change_batch_size(
        self, size: int | None, inputs: TensorsLike | None = None
    ) -> edits.Edits: ...
    def set_input(
        self,
        tensor: TensorLike,
        spec: object = None,
        *,
        shape: object = None,
        dtype: DTypeLike | None = None,
        fix: bool = False,
        adapter: Literal["", "Cast"] | None = None,
    ) -> edits.Edits: ...
    def cast(
        self,
        dtype: Literal["float16", "bfloat16"] | DTypeLike,
        *,
        keep: TensorsLike | None = None,
        boundary: Literal["keep", "cast"] = "keep",
        functions: bool = True,
        feeds: Mapping[TensorKey, object] | None = None,
    ) -> edits.Edits: ...
    def round_weights(
        self,
        bits: int = 8,
        *,
        minimum: int = 1024,
        functions: bool = True,
        feeds: Mapping[TensorKey, object] | None = None,
    ) -> edits.Edits: ...
    def quantize_weights(
        self,
        *,
        minimum: int = 1024,
        per_channel: bool = True,
        functions: bool = True,
        feeds: Mapping[TensorKey, object] | None = None,
    ) -> edits.Edits: ...

class _PassValues:
    Sequential: type[Sequential]
    Repeat: type[Repeat]
    def cast(
        self,
        dtype: Literal["float16", "bfloat16"] | DTypeLike,
        *,
        keep: TensorsLike | None = None,
        boundary: Literal["keep", "cast"] = "keep",
        functions: bool = True,
    ) -> Pass: ...
    def change_batch_size(self, size: int | None, inputs: TensorsLike | None = None) -> Pass: ...
    def fold_batch_norm(self, what: OpsLike | None = None) -> Pass: ...
    def fold_constants(
        self,
        limit: int = 102400,
        *,
        shapes: bool = True,
        keep: OpsLike | None = None,
        functions: bool = True,
    ) -> Pass: ...
    def freeze(
        self,
        outputs: OpsLike | None = None,
        inputs: TensorsLike | None = None,
        *,
        updates: Literal["refuse", "keep", "drop"] = "refuse",
        inline: bool = False,
        lower_control_flow: bool = False,
    ) -> Pass: ...
    def merge_duplicates(self, *, keep: OpsLike | None = None, functions: bool = True) -> Pass: ...
    def obfuscate_names(self, *, contents: bool = False) -> Pass: ...
    def quantize_weights(
        self, *, minimum: int = 1024, per_channel: bool = True, functions: bool = True
    ) -> Pass: ...
    def remove_attr(
        self, name: str, what: OpsLike | None = None, *, functions: bool = True
    ) -> Pass: ...
    def remove_collection(self, *keys: str) -> Pass: ...
    def remove_devices(self, *, functions: bool = True) -> Pass: ...
    def remove_functions(
        self,
    ) -> Pass: ...
    def remove_identities(
        self,
        also: str | Iterable[str] | None = None,
        *,
        keep: OpsLike | None = None,
        functions: bool = True,
    ) -> Pass: ...
    def rename_type(self, old: str, new: str, *, functions: bool = True) -> Pass: ...
    def round_weights(
        self, bits: int = 8, *, minimum: int = 1024, functions: bool = True
    ) -> Pass: ...
    def set_input(
        self,
        tensor: TensorLike,
        spec: object = None,
        *,
        shape: object = None,
        dtype: DTypeLike | None = None,
        fix: bool = False,
        adapter: Literal["", "Cast"] | None = None,
    ) -> Pass: ...
    def sort(
        self,
    ) -> Pass: ...
    def strip_training(self, outputs: OpsLike | None = None) -> Pass: ...

passes: _PassValues
