"""Where copies go: name scopes and devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tfgraphwidget.errors import NameTaken, NotClonable
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.names import free_name, is_scope_name

if TYPE_CHECKING:
    from tfgraphwidget.edits.clone import Clone


def check_free(index: GraphIndex, scope: Any, *, may_be_root: bool = False) -> None:
    """Raise unless `scope` is a name scope that TensorFlow takes and nobody has taken."""
    if may_be_root and scope == "":
        return
    if not isinstance(scope, str) or not is_scope_name(scope):
        raise NameTaken(
            f"{scope!r} is no name scope: use letters, digits, '_', '-', '.' and '/', and begin with a letter or digit."
        )
    taken = taken_names(index, scope)
    if scope.lower() in taken:
        raise NameTaken(f"The name {scope!r} is taken in this graph; {free_name(scope, taken)!r} is free.", [scope])


def taken_names(index: GraphIndex, scope: str) -> set[str]:
    """All names as deep as `scope` that ops or scopes have, in lower case: to TensorFlow "Copy" is "copy"."""
    depth = scope.count("/") + 1
    names = {"/".join(name.split("/", depth)[:depth]) for name in index.names}
    return {name.lower() for name in names} | index.reserved


def names_of(index: GraphIndex, ops: Iterable[int], src_scope: str, into: str) -> dict[str, str]:
    """Original -> copy: `src_scope/foo` becomes `into/foo`; NotClonable for an op that lies elsewhere."""
    prefix = f"{into}/" if into else ""
    old = f"{src_scope.rstrip('/')}/" if src_scope else ""
    names = index.names
    if old:
        outside = [names[i] for i in ops if not names[i].startswith(old)]
        if outside:
            raise NotClonable(
                f"Op {outside[0]!r} does not lie in src_scope {src_scope!r}, and belongs to the part; give a scope "
                "around all of it, or leave src_scope out.",
                outside,
            )
    return {names[i]: prefix + names[i][len(old) :] for i in ops}


def device_of(clone: Clone, index: GraphIndex, ops: Iterable[int], k: int) -> dict[str, str] | None:
    """The device of each op of the k-th copy that does not keep the original's."""
    given = clone.devices[k] if clone.devices else clone.device
    if given is None:
        return None
    if isinstance(given, str):
        return {index.names[i]: given for i in ops}
    found: dict[str, str] = {}
    for key, device in given:
        meant = [i for i in ops if _means(key, index.names[i], index.nodes[i].device)]
        if not meant:
            raise NotClonable(
                f"device= names {key!r}, and no op of the part stands on that device or in that scope; "
                "give devices as '/device:GPU:0', and scopes or ops by name."
            )
        found.update((index.names[i], device) for i in meant)
    return found


def _means(key: str, name: str, device: str) -> bool:
    """Whether the key of a device mapping means an op; devices begin with a slash, "" is no device."""
    if not key or key.startswith("/"):
        return key.lower() == device.lower()
    return name == key or name.startswith(f"{key.rstrip('/')}/")
