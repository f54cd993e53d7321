"""New seeds for copies: other random numbers than the original, the same each time the copy is
made.

TensorFlow keeps seeds in two places: in the attributes `seed` and `seed2` of an op with a generator
of its own, and in constants that other ops read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from math import prod

from tfgraphwidget.graph import CONSTANTS, SEED_FORWARDING
from tfgraphwidget.tf_types import NodeDef

_ATTRIBUTES = ("seed", "seed2")
_BITS = 31  # seeds are signed, and some ops take 32 bits of them
_BYTES = {3: 4, 9: 8}  # of the DataTypes that a seed may have: int32, int64
# The inputs that are seeds (test_tensorflow_facts.py::test_the_inputs_that_are_seeds).
SEED_INPUTS = {
    "AnonymousRandomSeedGenerator": (0, 1),
    "AnonymousSeedGenerator": (0, 1),
    "ExperimentalRandomDataset": (0, 1),
    "GlobalShuffleDataset": (1, 2),
    "KMC2ChainInitialization": (1,),
    "KmeansPlusPlusInitialization": (2,),
    "RandomDataset": (0, 1),
    "RandomDatasetV2": (0, 1),
    "RandomIndexShuffle": (1,),
    "SamplingDataset": (2, 3),
    "ShuffleAndRepeatDataset": (2, 3),
    "ShuffleAndRepeatDatasetV2": (2, 3),
    "ShuffleDataset": (2, 3),
    "ShuffleDatasetV3": (2, 3),
    "StatelessMultinomial": (2,),
    "StatelessParameterizedTruncatedNormal": (1,),
    "StatelessRandomBinomial": (1,),
    "StatelessRandomGammaV2": (1,),
    "StatelessRandomGetKeyCounter": (0,),
    "StatelessRandomGetKeyCounterAlg": (0,),
    "StatelessRandomNormal": (1,),
    "StatelessRandomPoisson": (1,),
    "StatelessRandomUniform": (1,),
    "StatelessRandomUniformFullInt": (1,),
    "StatelessRandomUniformInt": (1,),
    "StatelessSampleDistortedBoundingBox": (3,),
    "StatelessTruncatedNormal": (1,),
}


def reseed(nodes: Sequence[NodeDef], scope: str = "") -> None:
    """Give copied NodeDefs, whose names in `scope` are final, seeds of their own; in place.

    A new seed follows from the old one and the copy's name. An op without a seed (0 and 0) draws
    numbers of its own. A constant with consumers that do not use it as a seed stays as it is.
    """
    for node in nodes:
        if all(name in node.attr for name in _ATTRIBUTES) and any(
            node.attr[name].i for name in _ATTRIBUTES
        ):
            old = " ".join(str(node.attr[name].i) for name in _ATTRIBUTES)
            for name in _ATTRIBUTES:
                node.attr[name].i = _derived_seed(name, old, scope + node.name)
    for constant in _seed_constants(nodes):
        _refill(constant, scope)


def _derived_seed(*what: str) -> int:
    """A number above 0 that follows from some texts."""
    digest = sha256("\n".join(what).encode(errors="surrogateescape")).digest()
    return int.from_bytes(digest[:8], "little") % ((1 << _BITS) - 1) + 1


def _seed_constants(nodes: Sequence[NodeDef]) -> Iterable[NodeDef]:
    """The Consts that are only read as seeds, directly or through what hands them on."""
    uses: defaultdict[str, list[tuple[NodeDef, int]]] = defaultdict(list)
    if not any(node.op in SEED_INPUTS for node in nodes):
        return
    for node in nodes:
        for slot, text in enumerate(node.input):
            if text[:1] != "^":
                uses[text.partition(":")[0]].append((node, slot))
    for node in nodes:
        if node.op in CONSTANTS and uses[node.name] and _only_seeds(uses, node.name):
            yield node


def _only_seeds(uses: defaultdict[str, list[tuple[NodeDef, int]]], name: str) -> bool:
    stack, has_uses = list(uses[name]), False
    while stack:
        node, slot = stack.pop()
        if node.op in SEED_FORWARDING:
            stack += uses[node.name]
        elif slot not in SEED_INPUTS.get(node.op, ()):
            return False
        else:
            has_uses = True
    return has_uses


def _refill(constant: NodeDef, scope: str) -> None:
    tensor = constant.attr["value"].tensor
    old, size = tensor.SerializeToString(deterministic=True).hex(), _BYTES.get(tensor.dtype)
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    has_seed = shape or any(tensor.tensor_content) or any(tensor.int_val) or any(tensor.int64_val)
    if size is None or not has_seed:  # to a dataset, 0 and 0 are no seed
        return
    for values in (tensor.int_val, tensor.int64_val):
        del values[:]
    seeds = (_derived_seed(str(k), old, scope + constant.name) for k in range(prod(shape)))
    tensor.tensor_content = b"".join(value.to_bytes(size, "little") for value in seeds)
