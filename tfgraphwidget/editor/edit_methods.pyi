from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Literal

from tfgraphwidget import edits
from tfgraphwidget.graph import Selection, patterns
from tfgraphwidget.runtime import live
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

from .state import EditorCore
from .traced_growth import GrowthResult

class EditMethods:
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
        devices: str | Iterable[str] = (),
        src_scope: str = "",
        graph: GraphLike | None = None,
        session: SessionLike | None = None,
    ) -> Any: ...
    def preview(
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
        devices: str | Iterable[str] = (),
        src_scope: str = "",
        graph: GraphLike | None = None,
        session: SessionLike | None = None,
    ) -> edits.Preview: ...
    def command(
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
        devices: str | Iterable[str] = (),
        src_scope: str = "",
        graph: GraphLike | None = None,
        session: SessionLike | None = None,
    ) -> edits.Clone: ...
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
    def grow(self, at: OpsLike, function: Callable[..., object], into: str | None = None) -> GrowthResult: ...
    def reroute(
        self,
        old: TensorsLike,
        to: TensorsLike,
        *,
        only: OpsLike = (),
        never: OpsLike = (),
        mend: Literal["", "Cast", "Reshape", "Transpose"] = "",
        names: str | Iterable[str] = (),
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def swap(
        self,
        a: OpsLike,
        b: OpsLike,
        what: Literal["inputs", "outputs", "both"] = "outputs",
        *,
        only: OpsLike = (),
        never: OpsLike = (),
        mend: Literal["", "Cast", "Reshape", "Transpose"] = "",
        names: str | Iterable[str] = (),
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def connect(
        self,
        source: TensorsLike,
        target: OpsLike,
        k: int | None = None,
        *,
        mend: Literal["", "Cast", "Reshape", "Transpose"] = "",
        names: str | Iterable[str] = (),
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def bypass(
        self,
        what: OpsLike,
        by: object = (),
        *,
        mend: Literal["", "Cast", "Reshape", "Transpose"] = "",
        names: str | Iterable[str] = (),
        gradients: bool = False,
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def detach(
        self,
        what: OpsLike,
        *,
        inputs: bool = True,
        outputs: bool = True,
        control: bool = False,
        names: str | Iterable[str] = (),
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def add_control_inputs(self, op: OpLike, ops: OpsLike, *, renew: edits.Renew = "always") -> edits.Edits: ...
    def remove_control_inputs(self, op: OpLike, ops: OpsLike, *, renew: edits.Renew = "always") -> edits.Edits: ...
    def insert(
        self,
        at: TensorsLike,
        function: object,
        into: str | None = None,
        *,
        only: OpsLike = (),
        never: OpsLike = (),
        name: str | None = None,
        spec: TensorSpec | None = None,
        attributes: Mapping[str, object] | None = None,
        options: Mapping[str, object] | None = None,
        renew: edits.Renew = "always",
        **more: object,
    ) -> edits.Edits: ...
    def replace(
        self,
        what: OpsLike,
        by: object,
        into: str | None = None,
        *,
        name: str | None = None,
        ends: Mapping[TensorKey, TensorLike] | None = None,
        remove: bool = False,
        attributes: Mapping[str, object] | None = None,
        renew: edits.Renew = "always",
        **more: object,
    ) -> edits.Edits: ...
    def remove(
        self, what: OpsLike, *, prune: bool = True, readers: bool = False, renew: edits.Renew = "always"
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
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def rename(self, old: OpLike, new: str, *, renew: edits.Renew = "always") -> edits.Edits: ...
    def place(self, what: OpsLike, device: str | None, *, renew: edits.Renew = "always") -> edits.Edits: ...
    def set_attr(self, op: OpLike, name: str, value: object, *, renew: edits.Renew = "always") -> edits.Edits: ...
    def set_constant(self, tensor: TensorLike, value: object, *, renew: edits.Renew = "always") -> edits.Edits: ...
    def set_trainable(self, *which: OpsLike) -> Selection: ...
    def replace_input(
        self,
        tensor: TensorLike,
        spec: object = None,
        *,
        shape: object = "same",
        dtype: DTypeLike | None = "",
        fix: bool = False,
        mend: Literal["", "Cast"] = "",
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def freeze(
        self,
        outputs: OpsLike | None = None,
        inputs: TensorsLike = (),
        *,
        updates: Literal["refuse", "keep", "drop"] = "refuse",
        inline: bool = False,
        lower_control_flow: bool = False,
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def strip_training(self, outputs: OpsLike | None = None, *, renew: edits.Renew = "always") -> edits.Edits: ...

class SignatureMethods:
    def add(
        self, name: str, inputs: object = None, outputs: object = None, *, renew: edits.Renew = "always"
    ) -> live.Copy | Any: ...
    def rename(self, name: str, new: str, *, renew: edits.Renew = "always") -> edits.Edits: ...
    def reorder(
        self,
        name: str,
        inputs: str | Iterable[str] = (),
        outputs: str | Iterable[str] = (),
        *,
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def remove(self, name: str, *, renew: edits.Renew = "always") -> edits.Edits: ...

class Passes:
    def __init__(self, core: EditorCore) -> None: ...
    def remove_identities(
        self,
        also: str | Iterable[str] = (),
        *,
        keep: OpsLike | None = None,
        functions: bool = True,
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def merge_duplicates(
        self, *, keep: OpsLike | None = None, functions: bool = True, renew: edits.Renew = "always"
    ) -> edits.Edits: ...
    def fold_batch_norm(self, what: OpsLike | None = None, *, renew: edits.Renew = "always") -> edits.Edits: ...
    def fold_constants(
        self,
        limit: int = 102400,
        *,
        shapes: bool = True,
        keep: OpsLike | None = None,
        functions: bool = True,
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def remove_devices(self, *, functions: bool = True, renew: edits.Renew = "always") -> edits.Edits: ...
    def remove_attr(
        self, name: str, what: OpsLike | None = None, *, functions: bool = True, renew: edits.Renew = "always"
    ) -> edits.Edits: ...
    def remove_collection(self, *keys: str, renew: edits.Renew = "always") -> edits.Edits: ...
    def remove_functions(self, *, renew: edits.Renew = "always") -> edits.Edits: ...
    def rename_type(
        self, old: str, new: str, *, functions: bool = True, renew: edits.Renew = "always"
    ) -> edits.Edits: ...
    def sort(self, *, renew: edits.Renew = "always") -> edits.Edits: ...
    def obfuscate_names(self, *, contents: bool = False, renew: edits.Renew = "always") -> edits.Edits: ...
    def change_batch_size(
        self, size: int | None, inputs: TensorsLike = (), *, renew: edits.Renew = "always"
    ) -> edits.Edits: ...
    def cast(
        self,
        dtype: Literal["float16", "bfloat16"] | DTypeLike,
        *,
        keep: TensorsLike = (),
        ends: Literal["keep", "cast"] = "keep",
        functions: bool = True,
        feeds: Mapping[TensorKey, object] | None = None,
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def round_weights(
        self,
        bits: int = 8,
        *,
        minimum: int = 1024,
        functions: bool = True,
        feeds: Mapping[TensorKey, object] | None = None,
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
    def quantize_weights(
        self,
        *,
        minimum: int = 1024,
        per_channel: bool = True,
        functions: bool = True,
        feeds: Mapping[TensorKey, object] | None = None,
        renew: edits.Renew = "always",
    ) -> edits.Edits: ...
