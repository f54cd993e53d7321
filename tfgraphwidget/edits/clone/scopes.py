"""Name scopes and devices of copies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from tfgraphwidget.errors import NameTaken, NotClonable
from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.naming import DEEPEST, free_name, is_scope_name
from tfgraphwidget.sentences import either

if TYPE_CHECKING:
    from tfgraphwidget.edits.command import Command

# Asked for by every reply, and in a large graph by far the most expensive part of it.
_taken: WeakKeyDictionary[GraphIndex, dict[int, set[str]]] = WeakKeyDictionary()
LONGEST = 1_000  # characters of a scope that a user types
MOST_COPIES = 10_000
_MOST_OPS = 1_000_000  # about 2 GB as a GraphDef, which is where protobuf stops


def check_free(index: GraphIndex, *scopes: object, may_be_root: bool = False) -> None:
    """Raise NameTaken for scopes of the same depth of which one is not valid or not free."""
    names_in_use: set[str] | None = None
    for scope in scopes:
        if may_be_root and scope == "":
            continue
        if not isinstance(scope, str) or not is_scope_name(scope):
            raise NameTaken(
                f"{repr(scope)[:LONGEST]} is not a name scope: use letters, digits, '_', '-', '.' "
                "and '/', and begin with a letter or digit."
            )
        if len(scope) > LONGEST:
            raise NameTaken(
                f"A name scope has at most {LONGEST:,} characters, and this one {len(scope):,}; "
                "give a shorter one."
            )
        names_in_use = taken_names(index, scope) if names_in_use is None else names_in_use
        if scope.lower() in names_in_use:
            raise NameTaken.in_graph(scope, free_name(scope, names_in_use))


def check_own_scope(command: Command, index: GraphIndex) -> None:
    """Raise NameTaken where the scope `into` of a command is not valid or not free; `fixes` has the
    same command with a free one.
    """
    try:
        check_free(index, getattr(command, "into", ""))
    except NameTaken as error:
        error.fixes = command.under_a_free_name(error)
        raise


def check_size(ops: int, copies: int) -> None:
    """Raise when so many copies of so many ops are more than a machine holds."""
    if ops * copies > _MOST_OPS:
        raise NotClonable(
            f"{copies:,} copies of {ops:,} ops are more than the {_MOST_OPS:,} ops that one clone "
            "makes; make fewer."
        )


def taken_names(index: GraphIndex, scope: str) -> set[str]:
    """All names as deep as `scope` that ops or scopes have, in lower case, as TensorFlow does."""
    depth, names_by_depth = scope.count("/") + 1, _taken.setdefault(index, {})
    if depth not in names_by_depth:
        names_by_depth[depth] = {name.lower() for name in _names_at(index, depth)} | index.reserved
    return set(names_by_depth[depth])


def _names_at(index: GraphIndex, depth: int) -> Iterator[str]:
    """The names of ops and scopes of so many parts."""
    tree = index.scopes
    if depth > DEEPEST:  # deeper scopes are not in the tree
        yield from ("/".join(name.split("/", depth)[:depth]) for name in index.names)
    yield from (tree.names[scope] for scope in np.flatnonzero(tree.depth == depth).tolist())
    yield from (
        index.names[op] for op in np.flatnonzero(tree.depth[tree.scope_of] == depth - 1).tolist()
    )


def copied_names(
    index: GraphIndex, ops: Iterable[int], src_scope: str, into: str
) -> dict[str, str]:
    """Name -> name of the copy: `src_scope/foo` becomes `into/foo`. Raises NotClonable for an op
    that is not in `src_scope`.
    """
    prefix = f"{into}/" if into else ""
    old = f"{src_scope.rstrip('/')}/" if src_scope else ""
    names = index.names
    if old:
        outside = [names[i] for i in ops if not names[i].startswith(old)]
        if outside:
            raise NotClonable(
                f"Op {outside[0]!r} does not lie in src_scope {src_scope!r}, and belongs to the "
                "part; give a scope around all of it, or leave src_scope out.",
                outside,
            )
    return {names[i]: prefix + names[i][len(old) :] for i in ops}


class DeviceOptions(Protocol):
    """The options of `Clone` for devices."""

    @property
    def device(self) -> str | tuple[tuple[str, str], ...] | None:
        """The device of the copies; or pairs of (op, scope or device of the originals, device)."""

    @property
    def devices(self) -> tuple[str, ...]:
        """One device for each of several copies."""


def copied_devices(
    clone: DeviceOptions, index: GraphIndex, ops: Collection[int], k: int
) -> dict[str, str] | None:
    """Name of the original -> device of copy `k`, for ops that change device; None if all keep
    theirs. Raises NotClonable for a key of `device` that matches no op.
    """
    device_option = clone.devices[k] if clone.devices else clone.device
    if device_option is None:
        return None
    if isinstance(device_option, str):
        return {index.names[i]: device_option for i in ops}
    devices: dict[str, str] = {}
    for key, device in device_option:
        matches = [i for i in ops if _matches_device(key, index.names[i], index.nodes[i].device)]
        if not matches:
            raise NotClonable(
                either("device= names", "The devices name")
                + f" {key!r}, and no op of the part stands on that device or in that scope; "
                "give devices as '/device:GPU:0', and scopes or ops by name."
            )
        devices.update((index.names[i], device) for i in matches)
    return devices


def _matches_device(key: str, name: str, device: str) -> bool:
    """Whether a device mapping's key means an op; devices begin with "/", "" is none."""
    if not key or key.startswith("/"):
        return key.lower() == device.lower()
    return name == key or name.startswith(f"{key.rstrip('/')}/")
