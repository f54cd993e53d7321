"""Layers that stand flat in one scope are put together by what their names begin with."""

from __future__ import annotations

import numpy as np
import pytest

import tfgraphwidget as tgw
from tests.bench.nets import resnet
from tests.conftest import v1
from tests.hierarchy.test_repeats import boxes
from tests.visible.test_visible_graph import lines
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import BADGE, CLOSED, build_visible_graph, default_open

LAYERS = ("conv", "bn", "relu", "pad")
TYPES = ("Conv2D", "Mul", "Relu", "Pad")


def flat(*sizes: int, scope: str = "net") -> dict[str, str]:
    """x -> stages of so many blocks of four layers each, all in one scope -> y."""
    ops, before = {"x": "Placeholder"}, "x"
    for stage, size in enumerate(sizes):
        for block in range(size):
            for name, op_type in zip(LAYERS, TYPES, strict=True):
                layer = f"{scope}/stage{stage}_block{block}_{name}"
                ops[layer], before = f"{op_type} {before}", layer
        ops[f"{scope}/pool{stage}"] = f"MaxPool {before}"
        before = f"{scope}/pool{stage}"
    return ops | {"y": f"Softmax {before}"}


def shown(index, *opened):
    return build_visible_graph(index, ViewSpec(frozenset({"net", *opened})))


def test_layers_that_begin_alike_are_one_box_and_alike_ones_are_folded(graph):
    """A stage would be 68 boxes: that is not a block, so it is taken apart further."""
    seen = boxes(shown(graph(flat(17, 17))))
    folded = {f"net/stage{k}_block0 … stage{k}_block16": 17 for k in range(2)}
    assert seen == {"x": 0, "net": 0, "y": 0, "net/pool0": 0, "net/pool1": 0} | folded


def test_a_few_blocks_are_seen_one_by_one(graph):
    seen = shown(graph(flat(7, 7, 2)))
    assert len(boxes(seen)) == 3 + 7 + 7 + 1 + 3
    assert boxes(seen)["net/stage1_block3_*"] == 0, "drawn as a scope is"
    assert "net/stage2_*" in seen.names, "two blocks are few enough to be one"
    assert lines(seen)["net/stage0_block3_*", "net/stage0_block4_*"] == 1
    at = seen.names.index("net/stage0_block0_*")
    assert (seen.kind[at], seen.count[at]) == (CLOSED, 4)


def test_a_block_opens_to_its_layers(graph):
    seen = shown(graph(flat(7, 7, 2)), "net/stage0_block3_*")
    at = seen.names.index("net/stage0_block3_*")
    inside = [name for name, around in zip(seen.names, seen.parent, strict=True) if around == at]
    assert inside == [f"net/stage0_block3_{name}" for name in LAYERS]


def test_where_there_are_few_boxes_all_stays_as_it_is(graph):
    assert not outline_of(graph(flat(7, 6)))[0].blocks.any()


def test_without_folding_layers_stay_apart(graph):
    index = graph(flat(12, 12))
    assert not outline_of(index, fold=False)[0].blocks.any()


def test_where_names_say_nothing_of_what_belongs_together_the_order_does(graph):
    """Keras' own names: all convolutions begin alike, and none is wired to another."""
    ops, before = {"x": "Placeholder"}, "x"
    for k in range(24):
        for name, op_type in zip(
            ("conv", "batch_norm", "activation", "zero_pad"), TYPES, strict=True
        ):
            ops[f"net/{name}_{k}"], before = f"{op_type} {before}", f"net/{name}_{k}"
    index = graph(ops | {"y": f"Softmax {before}"})
    outline = outline_of(index)[0]
    for k in range(24):
        layer = outline.ops(outline.ids[f"net/… zero_pad_{k}"]).tolist()
        assert {index.names[op].rpartition("_")[2] for op in layer} == {str(k)}


def test_the_sums_of_a_network_with_all_between_them_are_no_block(graph):
    """Sums that read each other are wired; what lies between them is the whole network."""
    ops, before = {"x": "Placeholder"}, "x"
    for k in range(14):
        ops |= {
            f"wide_{k}": f"Conv2D {before}",
            f"norm_{k}": f"FusedBatchNorm wide_{k}",
            f"act_{k}": f"Relu6 norm_{k}",
            f"deep_{k}": f"DepthwiseConv2dNative act_{k}",
            f"flat_{k}": f"Conv2D deep_{k}",
            f"add_{k}": f"AddV2 flat_{k} {before}",
        }
        before = f"add_{k}"
    outline = outline_of(graph(ops | {"y": f"Softmax {before}"}))[0]
    assert "add_*" not in outline.ids
    assert {f"… add_{k}" for k in range(1, 13)} <= {*outline.ids}


def test_what_lies_between_two_members_keeps_them_from_being_a_block(graph):
    ops = flat(17, 17)
    ops["net/between"] = "Tanh net/stage0_block5_conv"
    ops["net/stage0_block5_relu"] = "AddN net/stage0_block5_bn net/between"
    ops["net/stage1_block5_relu"] = "AddN net/stage1_block5_bn net/between"
    names = outline_of(graph(ops))[0].names
    assert "net/stage0_block5_*" not in names
    assert "net/stage0_block0 … stage0_block4" in names


def test_what_lies_only_between_members_of_a_block_is_a_part_of_it(graph):
    """As in MobileNetV3, whose activations Keras has named."""
    ops, before = {"x": "Placeholder"}, "x"
    for k in range(13):
        block = f"net/block_{k}"
        ops[f"{block}_expand"] = f"Conv2D {before}"
        ops[f"net/add_{k}"] = f"AddV2 {block}_expand"
        ops[f"net/activation_{k}"] = f"Mul {block}_expand net/add_{k}"
        ops[f"{block}_bn"] = f"Mul net/activation_{k}"
        ops[f"{block}_depthwise"] = f"DepthwiseConv2dNative {block}_bn"
        before = f"{block}_depthwise"
    outline, _ = outline_of(graph(ops | {"y": f"Softmax {before}"}))
    block = outline.ids["net/block_3_*"]
    assert len(outline.ops(block)) == 5


def test_scopes_with_their_variables_and_constants_go_into_blocks(graph):
    ops, before = {"x": "Placeholder"}, "x"
    for k in range(20):
        for name, op_type in zip(LAYERS, TYPES, strict=True):
            layer = f"net/block{k}_{name}"
            ops |= {
                f"{layer}/w": "VariableV2",
                f"{layer}/c": "Const",
                f"{layer}/a": f"{op_type} {before} {layer}/w",
            }
            ops[f"{layer}/b"], before = f"Tanh {layer}/a {layer}/c", f"{layer}/b"
    outline, sums = outline_of(graph(ops | {"y": f"Softmax {before}"}))
    blocks = np.flatnonzero(outline.blocks)
    assert len(blocks) == 20
    assert sums.ops[blocks].tolist() == [16] * 20
    assert sums.variables[blocks].tolist() == [4] * 20


def test_keras_resnet_shows_its_blocks_at_first():
    index = tgw.edit(resnet())._core.index
    seen = build_visible_graph(index, ViewSpec(default_open(index)))
    names = {name.rpartition("/")[2] for name in seen.names}
    stages = enumerate((3, 4, 6, 3), 2)
    assert {f"conv{stage}_block{k + 1}_*" for stage, count in stages for k in range(count)} <= names
    assert (seen.kind != BADGE).sum() <= 30


@pytest.fixture
def editor() -> tgw.GraphEditor:
    """The same flat network, as an editor has it."""
    graph_def = v1.GraphDef()
    for name, said in flat(7, 7, 2).items():
        op_type, *inputs = (
            said.replace("Conv2D", "Neg").replace("Pad", "Tanh").replace("MaxPool", "Exp").split()
        )
        node = graph_def.node.add(
            name=name, op=op_type if inputs or op_type == "Placeholder" else "Placeholder"
        )
        node.input.extend(inputs * 2 if op_type == "Mul" else inputs)
        node.attr["T" if inputs else "dtype"].type = 1
    return tgw.edit(graph_def)


def test_a_block_is_opened_chosen_hidden_and_cloned_by_its_name(editor):
    block = "net/stage0_block3_*"
    editor.view.expand("net")
    editor.view.expand(block)
    assert "net/stage0_block3_bn" in editor.view.scene().names
    editor.view.collapse(block)
    assert block in editor.view.scene().names
    assert len(editor._core.view.holding(block)) == 4
    assert editor.view.reveal("net/stage0_block3_bn") == "net/stage0_block3_bn"
    editor.view.hide(block)
    assert block not in editor.view.scene().names
    assert editor._core.view.hidden_ops == 4
    editor.view.show()
    assert block in editor.view.scene().names


def test_what_is_in_a_cycle_by_itself_does_not_keep_others_from_being_blocks(graph):
    """The sums of a residual network begin alike and feed one another, around all that lies between
    them.
    """
    ops, before = {"x": "Placeholder"}, "x"
    for block in range(16):
        start = before
        for name, op_type in zip(LAYERS, TYPES, strict=True):
            layer = f"net/block{block}_{name}"
            ops[layer], before = f"{op_type} {before}", layer
        ops[f"net/add_{block}"], before = f"AddN {before} {start}", f"net/add_{block}"
    names = outline_of(graph(ops | {"y": f"Softmax {before}"}))[0].names
    assert {f"net/block{block}_*" for block in range(16)} <= set(names)
    assert "net/add_*" not in names
