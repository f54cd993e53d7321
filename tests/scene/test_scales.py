"""Tints, notes and legends of what is known of ops."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, v1
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.scene.coloring import encodings, scales
from tfgraphwidget.scene.coloring.scales import Categories, Numbers, color_items, format_number
from tfgraphwidget.scene.scene import Scene, build
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import BADGE, CLOSED, OPEN


def index_of(graph: tf.Graph) -> GraphIndex:
    return tgw.edit(graph)._core.index


@pytest.fixture
def index() -> GraphIndex:
    return index_of(build_mlp(resource=False))


def drawn(index: GraphIndex, *opened: str, **how: bool) -> Scene:
    return build(index, ViewSpec(frozenset(opened), **how))


def tints_by_name(scene: Scene, known: scales.OpValues) -> dict[str, tuple[int, str]]:
    tint, notes = color_items(scene, known)
    return {
        name: (int(t), note)
        for name, kind, t, note in zip(
            scene.names, scene.kind.tolist(), tint.tolist(), notes, strict=True
        )
        if kind != BADGE
    }


def by_name(index: GraphIndex, values: dict[str, float], **how: bool) -> Numbers:
    total = how.pop("total", True)
    return Numbers(np.array([values.get(name, np.nan) for name in index.names]), "", total=total)


def test_a_closed_scope_shows_the_sum_of_costs_and_the_mean_of_other_numbers(index):
    values = {"net/one/MatMul": 1.0, "net/two/MatMul": 2.0, "net/two/add": 6.0}
    scene = drawn(index, "net", fold=False)
    assert [
        tints_by_name(scene, by_name(index, values))[name][1] for name in ("net/one", "net/two")
    ] == ["1", "8"]
    notes = tints_by_name(scene, by_name(index, values, total=False))
    assert [notes[f"net/{n}"][1] for n in ("one", "two")] == ["1", "4"]


def test_an_open_scope_has_no_colour_and_no_note(index):
    tint, notes = color_items(scene := drawn(index, "net", "net/one"), encodings.by_type(index))
    assert (scene.kind == OPEN).sum() == 3
    assert not tint[scene.kind == OPEN].any()
    assert {notes[i] for i in np.flatnonzero(scene.kind == OPEN)} == {""}


@pytest.mark.parametrize("total", [True, False])
def test_an_open_scope_has_the_number_of_all_that_is_in_it_and_no_color(index, total):
    values = {"net/one/MatMul": 1.0, "net/two/MatMul": 2.0, "net/two/add": 6.0, "net/one/w": 3.0}
    numbers = by_name(index, values, total=total)
    closed = tints_by_name(drawn(index, fold=False), numbers)
    opened = tints_by_name(drawn(index, "net", "net/one", "net/two", fold=False), numbers)
    half = tints_by_name(drawn(index, "net", fold=False), numbers)
    assert closed["net"][1] == opened["net"][1] == half["net"][1] == ("12" if total else "3")
    assert [opened[f"net/{name}"] for name in ("one", "two")] == [
        (0, half[f"net/{name}"][1]) for name in ("one", "two")
    ]


def test_equal_numbers_have_equal_colours_whatever_is_open(index):
    known = by_name(index, {"net/one/MatMul": 10.0, "net/two/MatMul": 20.0})
    closed = tints_by_name(drawn(index, "net", fold=False), known)
    opened = tints_by_name(drawn(index, "net", "net/one", "net/two", fold=False), known)
    assert closed["net/one"] == opened["net/one/MatMul"]
    assert closed["net/two"] == opened["net/two/MatMul"]
    assert (
        128
        <= closed["net/one"][0]
        < closed["net/two"][0]
        < tints_by_name(drawn(index), known)["net"][0]
        == 255
    )


def test_a_cost_of_nothing_has_no_colour_and_a_number_of_nothing_has(index):
    values = {"net/one/MatMul": 0.0, "net/two/MatMul": 5.0}
    scene = drawn(index, "net", "net/one", "net/two", fold=False)
    assert tints_by_name(scene, by_name(index, values))["net/one/MatMul"] == (0, "")
    assert tints_by_name(scene, by_name(index, values, total=False))["net/one/MatMul"] == (128, "0")
    assert tints_by_name(scene, by_name(index, values, total=False))["net/two/MatMul"] == (255, "5")


def test_a_wide_range_goes_by_powers_of_ten(index):
    known = by_name(
        index, {"net/one/MatMul": 1.0, "net/two/MatMul": 30.0, "x": 1000.0}, total=False
    )
    scene = drawn(index, "net", "net/one", "net/two", fold=False)
    assert (
        abs(
            tints_by_name(scene, known)["net/two/MatMul"][0]
            - (128 + 127 * np.log(30) / np.log(1000))
        )
        < 1
    )
    assert known.legend("mine").notice == "log scale"
    assert not by_name(index, {"x": 0.0, "net/one/MatMul": 1e9}, total=False).is_wide


def test_what_is_very_little_of_the_whole_is_as_pale_as_nothing(index):
    known = by_name(index, {"net/one/MatMul": 1.0, "net/two/MatMul": 1e9})
    scene = drawn(index, "net", "net/one", "net/two", fold=False)
    assert tints_by_name(scene, known)["net/one/MatMul"] == (128, "1")
    assert known.legend("cost").low.startswith("≤ ")


@pytest.mark.parametrize(
    ("unit", "low"), [("n", "≤ 14"), ("FLOP", "≤ 14 FLOP"), ("B", "≤ 14 B"), ("µs", "≤ 14.6 µs")]
)
def test_the_lower_end_of_a_ramp_of_what_is_counted_is_whole(unit, low):
    known = Numbers(np.array([1.0, 145_999.0]), unit, total=True)
    assert known.legend("cost").low == low


def test_the_category_of_most_ops_is_that_of_a_closed_scope():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        for k in range(3):
            x = tf.nn.relu(x, name=f"part/relu{k}")
        x = tf.nn.tanh(x, name="part/tanh")
        tf.nn.tanh(tf.nn.relu(x, name="tie/relu"), name="tie/tanh")
        tf.nn.tanh(tf.nn.tanh(x, name="alone/tanh"), name="alone/tanh_again")
    index = index_of(graph)
    known = encodings.by_type(index)
    found = tints_by_name(drawn(index, fold=False), known)
    assert found["part"] == (known.labels.index("Relu") + 1, "Relu ×3")
    assert found["tie"] == (0, "mixed")
    assert found["alone"] == (known.labels.index("Tanh") + 1, "Tanh")


def test_a_layer_is_named_after_its_matrix_product_not_after_its_constants(index):
    found = tints_by_name(drawn(index, "net", fold=False), encodings.by_type(index))
    assert found["net/one"][1] == "MatMul"


def test_a_badge_has_the_colour_of_its_op(index):
    scene = drawn(index, "net", "net/one", fold=False)
    badges = np.flatnonzero(scene.kind == BADGE)
    assert len(badges)
    tint, notes = color_items(scene, known := encodings.by_type(index))
    for badge, op in zip(scene.badge_item.tolist(), scene.badge_op.tolist(), strict=True):
        assert tint[badge] == known.code[op] + 1
        assert notes[badge] == index.types[op]


def test_a_group_shows_the_sum_of_its_members():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 2], name="x")
        for k in range(5):
            with tf.name_scope(f"block_{k}"):
                x = tf.nn.relu(tf.matmul(x, x, name="product"), name="out")
    index = index_of(graph)
    scene = drawn(index)
    (group,) = np.flatnonzero((scene.members == 5) & (scene.kind == CLOSED)).tolist()
    tint, notes = color_items(scene, by_name(index, {f"block_{k}/product": 4.0 for k in range(5)}))
    assert (tint[group], notes[group]) == (255, "20")
    assert color_items(scene, encodings.by_structure(index))[1][group] == "block_0 ×5"


def test_more_categories_than_colours_share_the_last_one():
    with tf.Graph().as_default() as graph:
        for k in range(20):
            for again in range(20 - k):
                tf.no_op(name=f"scope{k:02}/op{again}")
    index = index_of(graph)
    known = Categories.of([name.split("/")[0] for name in index.names])
    legend = known.legend("scope")
    assert [entry.tint for entry in legend.entries] == list(range(1, 13))
    assert [entry.ops for entry in legend.entries[:3]] == [20, 19, 18]
    assert (legend.entries[-1].label, legend.entries[-1].ops) == ("9 others", sum(range(1, 10)))
    found = tints_by_name(drawn(index, fold=False), known)
    assert (found["scope00"][0], found["scope10"][0], found["scope11"][0], found["scope18"][0]) == (
        1,
        11,
        12,
        12,
    )
    assert found["scope18"][1] == "scope18"


def test_a_few_categories_have_a_colour_each_and_the_rest_is_counted():
    known = Categories.of(["a", "b", "b", ""], none="no value")
    assert [(e.label, e.tint, e.ops) for e in known.legend("mine").entries] == [
        ("b", 1, 2), ("a", 2, 1), ("no value", 0, 1),
    ]  # fmt: skip


def test_nothing_known_is_an_empty_legend():
    assert Categories.of([]).legend("type").entries == ()
    legend = Numbers(np.full(3, np.nan), "B", total=True, notice="not measured").legend("memory")
    assert (legend.low, legend.high, legend.notice) == ("", "", "not measured")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "n", "0"), (999.0, "n", "999"), (999.6, "n", "1.0 K"), (25557032, "n", "25.6 M"),
        (1e30, "n", f"{1e12:.0f} E"),
        (1.2e9, "FLOP", "1.2 GFLOP"), (512.0, "B", "512 B"), (3.4e6, "B", "3.4 MB"),
        (0.5, "µs", "0.5 µs"), (412.0, "µs", "412 µs"), (3400.0, "µs", "3.4 ms"),
        (2.1e6, "µs", "2.1 s"), (-0.125, "", "-0.125"), (12345678.0, "", "1.235e+07"),
    ],
)  # fmt: skip
def test_numbers_are_short(value, unit, text):
    assert format_number(value, unit) == text


@pytest.mark.parametrize(
    ("device", "text"),
    [
        ("", ""), ("/gpu:1", "GPU:1"), ("/device:CPU:0", "CPU:0"), ("/cpu", "CPU:0"),
        ("/job:ps/task:2", "ps:2"), ("/job:localhost/replica:0/task:0/device:GPU:3", "GPU:3"),
        ("/job:worker/task:1/gpu:0", "worker:1 GPU:0"), ("GPU", "GPU:0"),
    ],
)  # fmt: skip
def test_devices_are_short(device, text):
    assert encodings.device_text(device) == text


def test_a_scope_around_most_of_the_work_gives_way_to_those_inside(index):
    known = encodings.by_scope(index)
    assert set(known.labels) == {"net/one", "net/two"}
    assert tints_by_name(drawn(index, "net", fold=False), known)["net/one"][1] == "net/one"


def test_scopes_of_equal_structure_have_equal_colours():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 2], name="x")
        for name in ("first", "second"):
            with tf.name_scope(name):
                x = tf.nn.relu(tf.matmul(x, x))
        with tf.name_scope("third"):
            tf.nn.tanh(tf.matmul(x, x))
    index = index_of(graph)
    found = tints_by_name(drawn(index, fold=False), encodings.by_structure(index))
    assert found["first"] == found["second"] == (1, "first ×2")
    assert found["third"] == (0, "")


def test_variables_are_trainable_or_not_and_other_ops_neither():
    with tf.Graph().as_default() as graph:
        v1.get_variable("kernel", [2])
        v1.get_variable("mean", [2], trainable=False)
        v1.placeholder(tf.float32, name="x")
    found = tints_by_name(
        drawn(index := index_of(graph), badges=False, fold=False), encodings.by_trainable(index)
    )
    assert found["kernel"][1].startswith("trainable")
    assert found["mean"][1].startswith("not trainable")
    assert found["x"] == (0, "")


def test_the_dtype_is_that_of_the_first_output():
    with tf.Graph().as_default() as graph:
        v1.placeholder(tf.float16, name="half")
        v1.get_variable("w", [2], use_resource=False)
        tf.no_op(name="none")
    known = encodings.by_dtype(index := index_of(graph))
    dtype = {
        name: known.labels[code] if code >= 0 else ""
        for name, code in zip(index.names, known.code, strict=True)
    }
    assert (dtype["half"], dtype["w"], dtype["none"]) == ("float16", "float32", "")
