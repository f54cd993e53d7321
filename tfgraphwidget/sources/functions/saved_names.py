"""How checkpoints of objects name the variables of a source: by the variables' names, and by the
paths of objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tfgraphwidget.sources.files.checkpoint import Checkpoint
from tfgraphwidget.sources.source import Source
from tfgraphwidget.tf_internals import trackable_variables

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


@dataclass(frozen=True)
class SavedName:
    """A variable's name in checkpoints, "dense/kernel", and the keys of its value in models'."""

    name: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class SavedNames:
    """The names of the variables of a source's graph, or of a function's body in it.

    Attributes:
        source: What was opened.
        origins: Op of the body → the op of the source's graph that it is given; empty for the graph
            itself.
        live: Gives the `tf.Variable` that an op represents, if there is one.
    """

    source: Source
    origins: Mapping[str, str]
    live: Callable[[str], object] = lambda _: None

    def of(self, handle: str) -> SavedName:
        """The name and the keys of the variable of a handle op."""
        variable, stored_data = self.live(handle), self.source.stored
        if stored_data is not None:
            origin = self.origins.get(handle, handle)
            # Those of the objects first, by which TensorFlow 2 restores.
            keys = reversed(stored_data.keys(origin))
            return SavedName(stored_data.variable_name(origin), tuple(keys))
        if self.source.model is not None:
            path = self._paths.get(id(getattr(variable, "handle", None)))
            # Keras's own name.
            return SavedName(handle, () if path is None else (f"{path}{_VALUE}",))
        name = getattr(variable, "name", None)
        return SavedName(name.removesuffix(":0") if isinstance(name, str) else handle)

    @cached_property
    def _paths(self) -> dict[int, str]:
        return {id(v.handle): path for path, v in trackable_variables(self.source.model).items()}


def keys_of_objects(checkpoint: Checkpoint, variables: Mapping[str, SavedName]) -> dict[str, str]:
    """The keys of the values of variables, by their handle ops, in a checkpoint of objects: those
    of the variables' paths where the checkpoint has all of these, as TensorFlow restores a
    checkpoint; otherwise those of the variables' names, as far as one value and one variable have
    it.
    """
    paths = {
        handle: key
        for handle, saved in variables.items()
        if (key := _first(saved.keys, checkpoint.shapes)) is not None
    }
    if len(paths) == len(variables):
        return paths
    own = Counter(saved.name for saved in variables.values())
    saved_names = checkpoint.variable_names
    count = Counter(saved_names.values())
    key_of_name = {name: key for key, name in saved_names.items() if count[name] == 1}
    name_of_handle = {
        handle: saved.name for handle, saved in variables.items() if own[saved.name] == 1
    }
    names = {
        handle: key_of_name[name] for handle, name in name_of_handle.items() if name in key_of_name
    }
    return max(names, paths, key=len)


def _first(keys: Iterable[str], mapping: Mapping[str, object]) -> str | None:
    return next((key for key in keys if key in mapping), None)
