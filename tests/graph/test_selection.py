"""Selections as values: their ends, their algebra, what they print as; and the ways to make
them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, NoPath, UnknownName
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.graph.state_initializers import from_outside


@pytest.fixture
def two(line: tf.Graph) -> GraphEditor:
    """x -> a -> b -> c, each doubling."""
    return tgw.edit(line)


@pytest.fixture
def halves() -> GraphEditor:
    """x -> split, whose first half goes to p and whose second to q."""
    graph = tf.Graph()
    with graph.as_default():
        first, second = tf.split(v1.placeholder(tf.float32, [4], name="x"), 2, name="split")
        tf.square(first, name="p")
        tf.square(second, name="q")
    return tgw.edit(graph)


def edges_of(graph: tf.Graph) -> set[tuple[str, str]]:
    return {(t.op.name, op.name) for op in graph.get_operations() for t in op.inputs}


def test_the_inputs_and_outputs_of_a_selection(two: GraphEditor) -> None:
    part = two.ops("a", "b")
    assert part.inputs == ("x:0", "a/y:0", "b/y:0")
    assert part.inside == ("a:0",)
    assert part.outputs == ("b:0",)
    assert two.ops("c").outputs == ("c:0",), "what nobody reads is an output"


def test_a_tensor_that_is_read_inside_and_outside_is_both(diamond: tf.Graph) -> None:
    part = tgw.edit(diamond).ops("x", "left")
    assert part.inside == ("x:0",)
    assert part.outputs == ("x:0", "left:0")


def test_a_chosen_tensor_that_no_op_inside_touches_passes_through(two: GraphEditor) -> None:
    part = two.ops("c", "a:0", "b:0")
    assert part.passthroughs == ("a:0",), "b:0 is read by c"
    assert part.inputs == ("b:0", "c/y:0", "a:0")
    assert part.outputs == ("c:0", "a:0")
    assert list(part) == ["c"]


def test_the_unread_tensor_of_an_op_with_several_is_an_output() -> None:
    graph = tf.Graph()
    with graph.as_default():
        first, _ = tf.split(v1.placeholder(tf.float32, [4], name="x"), 2, name="split")
        tf.square(first, name="p")
    part = tgw.edit(graph).ops("split", "p")
    assert part.outputs == ("split:1", "p:0")


def test_ends_are_those_that_a_path_joins(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    part = editor.ops(scope="net/two") | editor.ops("net/logits")
    inputs, outputs = part.boundary
    assert inputs == ("net/one/out:0",)
    assert outputs == ("net/logits:0",)
    assert set(editor.between(inputs, outputs)) <= set(part)


def test_growing_and_shrinking(two: GraphEditor) -> None:
    assert set(two.ops("b").grow()) == {"a", "b", "b/y", "c"}
    assert set(two.ops("b").grow().grow()) == {"x", "a/y", "a", "b", "b/y", "c", "c/y"}
    assert set((two.ops("a", "b", "b/y", "c")).shrink()) == {"b", "b/y"}
    everything = ~two.ops()
    assert everything.shrink() == everything


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_shrink_undoes_grow_from_the_other_side(data: st.DataObject) -> None:
    editor = tgw.edit(_DAG)
    chosen = editor.ops(
        *data.draw(st.lists(st.sampled_from(editor._core.index.names), unique=True))
    )
    assert chosen.shrink() == ~(~chosen).grow()
    beside = {
        a for pair in edges_of(_DAG) if pair[0] != pair[1] for a in pair if set(pair) & set(chosen)
    }
    assert set(chosen.grow()) == set(chosen) | beside


def _dag() -> tf.Graph:
    graph, rng = tf.Graph(), np.random.default_rng(7)
    with graph.as_default():
        made = [v1.placeholder(tf.float32, [2], name=f"in_{k}") for k in range(3)]
        for k in range(40):
            with tf.name_scope(f"block_{k % 4}"):
                a, b = (made[int(i)] for i in rng.integers(max(len(made) - 9, 0), len(made), 2))
                made.append(tf.add(a, b, name=f"add_{k}"))
    return graph


_DAG = _dag()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_walks_reach_what_a_naive_search_reaches(data: st.DataObject) -> None:
    editor = tgw.edit(_DAG)
    names = st.sampled_from(editor._core.index.names)
    seeds = data.draw(st.lists(names, min_size=1, max_size=3))
    stops = {f"{name}:0" for name in data.draw(st.lists(names, max_size=4))}
    room = data.draw(st.none() | st.sets(names, min_size=30))
    way = data.draw(st.sampled_from(["upstream", "downstream"]))
    reached = {s for s in seeds if room is None or s in room}
    frontier = list(reached)
    while frontier:
        at = frontier.pop()
        for source, reader in edges_of(_DAG):
            here, there = (reader, source) if way == "upstream" else (source, reader)
            if (
                here == at
                and f"{source}:0" not in stops
                and there not in reached
                and (room is None or there in room)
            ):
                reached.add(there)
                frontier.append(there)
    within = None if room is None else editor.ops(*room)
    found = getattr(editor, way)(*seeds, stop_at=sorted(stops), within=within)
    assert set(found) == reached
    assert set(
        getattr(editor, way)(*seeds, stop_at=sorted(stops), within=within, inclusive=False)
    ) == reached - {s for s in seeds if s in reached}
    assert eval(found.expression, {"editor": editor}) == found


def test_a_tensor_as_a_seed_is_its_op_upwards_and_its_consumers_downwards(
    halves: GraphEditor,
) -> None:
    editor = halves
    assert set(editor.downstream("split:1")) == {"q"}
    assert set(editor.downstream("split")) == {"split", "p", "q"}
    assert "split" in editor.upstream("split:1")


def test_control_edges_can_be_left_out() -> None:
    graph = tf.Graph()
    with graph.as_default():
        first = tf.constant(1.0, name="first")
        with tf.control_dependencies([first]):
            tf.constant(2.0, name="second")
    editor = tgw.edit(graph)
    assert set(editor.upstream("second")) == {"first", "second"}
    assert set(editor.upstream("second", controls=False)) == {"second"}
    assert set(editor.ops("second").grow()) == {"second"}
    assert set(editor.ops("second").grow(controls=True)) == {"first", "second"}
    assert editor.ops("second").control_inputs == ("^first",)


def test_a_shortest_path_and_all_paths() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        long = tf.square(tf.square(x, name="s1"), name="s2")
        tf.add(long, x, name="y")
    editor = tgw.edit(graph)
    assert list(editor.path("x", "y")) == ["x", "y"]
    assert list(editor.path("x", "y", all=True)) == ["x", "s1", "s2", "y"]
    with pytest.raises(NoPath, match="swap"):
        editor.path("y", "x")


def test_what_encloses(diamond: tf.Graph) -> None:
    editor = tgw.edit(diamond)
    assert set(editor.ops("left").connected(until=["join"])) == {
        "left",
        "x",
        "right",
        "scaled",
        "other",
        "join",
    }
    assert set(editor.ops("left").connected(until=["x", "join"], inclusive=False)) == {"left"}
    with pytest.raises(GraphEditError, match="'x' is where it starts and where it ends"):
        editor.ops("x").connected(until=["x"])


def test_asking_each_op(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    found = editor.ops(where=lambda op: op.type == "MatMul" and op.attr("transpose_b") is False)
    assert list(found) == ["net/one/MatMul", "net/two/MatMul"]
    assert found.expression.startswith("editor.ops(where=lambda op: op.type == 'MatMul'")
    assert eval(found.expression, {"editor": editor}) == found
    assert len(editor.ops(where=lambda op: len(op.consumers) > 1)) == len(editor.ops(consumers=2))
    op_names = {
        op.name
        for op in mlp.get_operations()
        if op.outputs and op.outputs[0].shape.as_list() == [None, 4]
    }
    assert set(editor.ops(where=lambda op: op.shapes[:1] == ((None, 4),))) == op_names


def test_what_an_op_says_of_itself_is_what_tensorflow_says(mlp: tf.Graph) -> None:
    seen = []
    tgw.edit(mlp).ops(where=seen.append)
    for report, op in zip(seen, mlp.get_operations(), strict=True):
        assert (report.name, report.type, report.device) == (op.name, op.type, op.device)
        assert report.inputs == tuple(t.name for t in op.inputs)
        assert report.outputs == tuple(t.name for t in op.outputs)
        assert report.control_inputs == tuple(c.name for c in op.control_inputs)
        assert set(report.consumers) == {c.name for t in op.outputs for c in t.consumers()}
        assert report.dtypes == tuple(t.dtype.name for t in op.outputs)
        assert report.shapes == tuple(
            None if t.shape.rank is None else tuple(t.shape.as_list()) for t in op.outputs
        )
        for name in op.node_def.attr:
            held, said = op.get_attr(name), report.attr(name)
            assert (
                said == held
                or said == getattr(held, "name", held)
                or not isinstance(said, int | str)
            ), name


def test_dtypes_and_shapes_with_wildcards() -> None:
    graph = tf.Graph()
    with graph.as_default():
        image = v1.placeholder(tf.float32, [None, 7, 7, 3], name="image")
        v1.placeholder(tf.float32, name="anything")
        v1.placeholder(tf.int64, [], name="step")
        tf.cast(image, tf.float16, name="half")
    editor = tgw.edit(graph)
    assert set(editor.ops(dtype="float*")) == {"image", "anything", "half"}
    assert set(editor.ops(shape=[None, 7, 7, 3])) == {"image", "half"}
    assert set(editor.ops(dtype="float16", shape=["*", ..., 3])) == {"half"}
    assert set(editor.ops(shape=tf.TensorShape(None))) == {"anything"}
    assert set(editor.ops(shape=[])) == {"step"}
    assert set(editor.ops(shape=[...])) == {"image", "step", "half"}
    assert editor.ops(shape=[None, ..., "*"]).expression == "editor.ops(shape=[None, ..., '*'])"
    with pytest.raises(GraphEditError, match="not a shape pattern"):
        editor.ops(shape=["7"])


def test_trainable_variables() -> None:
    graph = tf.Graph()
    with graph.as_default():
        v1.get_variable("w", [2])
        v1.get_variable("step", [], trainable=False)
    assert list(tgw.edit(graph).find("is:trainable")) == ["w"]


def test_what_it_prints_gives_it_again(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    part = ~(editor.ops(scope="net/one") & editor.ops(type=["MatMul", "Relu"])).grow() | editor.ops(
        matching="^net/two"
    ) - (editor.ops(consumers=2))
    again = eval(part.expression, {"editor": editor})
    assert again == part
    assert repr((~editor.ops("x")).grow()) == "(~editor.ops('x')).grow()"


def test_saved_and_loaded_by_name(mlp: tf.Graph, line: tf.Graph, tmp_path: Path) -> None:
    editor = tgw.edit(mlp)
    part = editor.ops(scope="net/one") | editor.ops("x:0")
    part.save(tmp_path / "part.json")
    assert editor.ops(file=tmp_path / "part.json") == part
    with pytest.raises(UnknownName, match="which this graph has not"):
        tgw.edit(line).ops(file=tmp_path / "part.json")
    with pytest.raises(UnknownName, match="no file"):
        editor.ops(file=tmp_path / "nowhere.json")
    (tmp_path / "bad.json").write_text("[1, 2")
    with pytest.raises(GraphEditError, match="holds no selection"):
        editor.ops(file=tmp_path / "bad.json")


def test_selections_made_before_and_after_the_graph_grew_go_together(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    before = editor.ops("a")
    with line.as_default():
        tf.square(line.get_tensor_by_name("c:0"), name="d")
    both = before | editor.ops("d")
    assert set(both) == {"a", "d"}
    assert set(editor.ops("d") - before) == {"d"}
    assert set(before.on(editor._core.index).downstream()) == {"a", "b", "c", "d"}


def test_selections_of_two_graphs_do_not_mix(line: tf.Graph, mlp: tf.Graph) -> None:
    with pytest.raises(GraphEditError, match="another graph"):
        tgw.edit(line).ops("a") | tgw.edit(mlp).ops("x")
    with pytest.raises(UnknownName, match="another graph"):
        tgw.edit(line).ops(mlp.get_operation_by_name("x"))
    with pytest.raises(GraphEditError, match="not a selection"):
        tgw.edit(line).ops("a") | "b"  # type: ignore[operator]


def test_a_selection_cannot_be_changed(two: GraphEditor) -> None:
    part = two.ops("a")
    with pytest.raises(AttributeError):
        part.expression = "b"  # type: ignore[misc]
    assert isinstance(part, Selection)
    assert hash(part) == hash(two.ops("a"))


def test_a_tensor_that_its_op_has_not_is_refused(two: GraphEditor) -> None:
    for ask in (two.ops, two.upstream, two.downstream):
        with pytest.raises(UnknownName, match=r"'a:3'.*1 output"):
            ask("a:3")


def test_ops_and_tensors_themselves_will_do(two: GraphEditor, line: tf.Graph) -> None:
    a, b = line.get_operation_by_name("a"), line.get_tensor_by_name("b:0")
    assert two.ops(a, b).tensors == ("b:0",)
    assert two.between(a, b) == two.between("a", "b:0")
    assert set(two.upstream(two.ops("a", "b"))) == {"x", "a/y", "a", "b/y", "b"}


def same_again(editor: GraphEditor, part: Selection) -> bool:
    return bool(eval(part.expression, {"editor": editor}) == part)


def test_what_it_prints_is_true_after_the_graph_grew(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    editor.selection = ~editor.ops("a")
    kept = editor.ops(scope="b")
    with line.as_default():
        tf.square(line.get_tensor_by_name("c:0"), name="d")
    assert "d" not in editor.selection
    assert same_again(editor, editor.selection)
    assert kept.on(editor._core.index).expression == "editor.ops(scope='b')", (
        "still true, so still said"
    )


def test_what_it_prints_is_true_after_an_undo(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    editor.clone("x:0", "net/logits:0", "copy", init="none")
    editor.selection = editor.ops(scope="copy").grow() | editor.ops("x")
    editor.undo()
    assert "x" in editor.selection
    assert same_again(editor, editor.selection)


def test_what_250_clicks_chose_can_be_pasted() -> None:
    graph = tf.Graph()
    with graph.as_default():
        for k in range(260):
            tf.constant(k, name=f"c{k}")
    editor = tgw.edit(graph)
    chosen = editor.ops("c0")
    for k in range(1, 250):
        chosen = chosen | editor.ops(f"c{k}") if k % 3 else chosen - editor.ops(f"c{k - 1}")
    assert same_again(editor, chosen)


def test_functions_that_cannot_be_written_down_give_the_list_of_their_ops(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    wanted = "MatMul"
    matmuls = "editor.ops('net/one/MatMul', 'net/two/MatMul')"
    assert editor.ops(where=lambda op: op.type == wanted).expression == matmuls
    first, second = (lambda op: op.type == "MatMul"), (lambda op: op.type == "Relu")
    if sys.version_info >= (3, 11):  # from then on Python tells which function of a line it is
        assert (
            editor.ops(where=first).expression == "editor.ops(where=lambda op: op.type == 'MatMul')"
        )
        assert (
            editor.ops(where=second).expression == "editor.ops(where=lambda op: op.type == 'Relu')"
        )
    else:
        assert editor.ops(where=first).expression == matmuls
        assert editor.ops(where=second).expression.startswith("editor.ops(")

    class IsMatMul:
        def __call__(self, op: object) -> bool:
            return getattr(op, "type", "") == "MatMul"

    assert editor.ops(where=IsMatMul()).expression == matmuls


@pytest.mark.parametrize("name", ["a.b", "it's", "a\\b", "über", "A", "x" * 300, np.str_("numpy")])
def test_nasty_names_print_as_python(name: str) -> None:
    editor = tgw.edit(
        v1.GraphDef(node=[v1.NodeDef(name=n, op="NoOp") for n in dict.fromkeys(["k", str(name)])])
    )
    for part in (
        editor.ops(name),
        editor.upstream(name),
        ~editor.ops(name, "k"),
        editor.ops(name).connected(until=[]),
    ):
        assert same_again(editor, part)


def test_masks_and_arrays_cannot_be_written(two: GraphEditor) -> None:
    for array in (
        two.ops("a").mask,
        two._core.index.inputs.values,
        two._core.index.consumer_edges.to,
        two._core.index.sources.port,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_one_tensor_of_several_is_where_a_path_begins(halves: GraphEditor) -> None:
    editor = halves
    assert list(editor.path("split:1", "q")) == ["split", "q"]
    for every in (False, True):
        with pytest.raises(NoPath, match="'split:1' to 'p'"):
            editor.path("split:1", "p", all=every)
    assert set(editor.ops("split:1").downstream()) == {"q"}
    assert editor.downstream(editor.ops("split:1")) == editor.downstream("split:1")


def test_equal_is_who_has_the_same_ops_of_the_same_graph(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    before = editor.ops("a")
    with line.as_default():
        tf.square(line.get_tensor_by_name("c:0"), name="d")
    assert before == editor.ops("a")
    assert len({before, editor.ops("a")}) == 1
    assert before != tgw.edit(line).ops("b")


def test_a_selection_of_another_room_or_editor_is_refused(mlp: tf.Graph) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [4], name="x")
        tf.function(lambda x: tf.square(x, name="p"))(tf.square(x, name="p"))
    editor = tgw.edit(graph)
    editor.view.enter(editor.ops(type="PartitionedCall"))
    inside = editor.ops("p")
    editor.view.leave()
    for use in (
        editor.ops,
        editor.upstream,
        lambda part: editor.clone(part, part, "copy"),
        editor.mark,
    ):
        with pytest.raises(GraphEditError, match="another graph"):
            use(inside)


def test_unknown_types_are_judged_one_by_one() -> None:
    def outside(*tables: str) -> set[str]:
        known = {
            "t1": v1.NodeDef(name="t1", op="MyTable"),
            "t2": v1.NodeDef(name="t2", op="MyTable"),
        }
        known["t1"].attr["shared_name"].s = b"key"
        nodes = [v1.NodeDef(name="x", op="Placeholder"), *(known[t] for t in tables)]
        editor = tgw.edit(
            v1.GraphDef(node=[*nodes, v1.NodeDef(name="y", op="MyLookup", input=["x", "t1", "t2"])])
        )
        return {
            name
            for name, is_outside in zip(
                editor._core.index.names, from_outside(editor._core.index), strict=True
            )
            if is_outside
        }

    assert outside("t1", "t2") == outside("t2", "t1") == {"x", "t1"}


BAD = {
    "a selection that is a name": lambda e: setattr(e, "selection", 5),
    "within a list": lambda e: e.upstream("a", within=["b"]),
    "a tensor it has not": lambda e: e.ops("a").upstream(stop_at=["a:7"]),
    "no scope": lambda e: e.ops(scope=3),
    "a list of scopes": lambda e: e.ops(scope=[["a"]]),
    "a list of types": lambda e: e.ops(type=[["Mul"]]),
    "no number": lambda e: e.ops(consumers="a"),
    "no dtype": lambda e: e.ops(dtype=3),
    "no shape": lambda e: e.ops(shape=[np.array([1, 2])]),
    "two ...": lambda e: e.ops(shape=[..., 3, ...]),
    "bytes": lambda e: e.ops(matching=b"a"),
    "no function": lambda e: e.ops(where=3),
    "no place": lambda e: e.ops("a").save("/nonexistent/folder/a"),
    "no op": lambda e: e.view.enter([]),
    "nothing to reveal": lambda e: e.view.reveal(None),
    "a NUL": lambda e: e.save("a\0.pb"),
    "a NUL in a selection's file": lambda e: e.ops("a").save("a\0"),
    "a folder for a selection": lambda e: e.ops("a").save("/"),
    "no tensor to stop at": lambda e: e.ops("a").upstream(stop_at=3),
    "a long name": lambda e: e.save("x" * 300 + ".pb"),
    "many digits": lambda e: e.ops("a:" + "9" * 5000),
}


@pytest.mark.parametrize("ask", BAD.values(), ids=BAD.keys())
def test_what_makes_no_sense_is_refused_in_a_sentence(two: GraphEditor, ask: object) -> None:
    with pytest.raises(GraphEditError):
        ask(two)  # type: ignore[operator]


def test_names_in_one_go_take_what_holds_names(two: GraphEditor) -> None:
    assert set(two.ops(*{"a": 1, "b": 2})) == {"a", "b"}
    two.selection = ["a", "b"]
    assert repr(two.selection) == "editor.ops('a', 'b')"
    assert two.upstream("b", stop_at={"a:0": 1}.keys()) == two.upstream("b", stop_at="a:0")
    assert two.ops(dtype=tf.float32, shape=tf.TensorShape([None, 2])) == two.ops(
        shape=[None, np.int64(2)]
    )


def test_filters_of_no_ops_select_none(mlp: tf.Graph, tmp_path: Path) -> None:
    editor = tgw.edit(mlp)
    none = editor.ops("x") - editor.ops("x")
    assert not editor.ops(none, type="MatMul")
    none.save(tmp_path / "none.json")
    assert not editor.ops(file=tmp_path / "none.json", type="MatMul")
    assert editor.ops("x:0", type="Placeholder").ops == ("x",)
    assert len(editor.ops(type="MatMul")) == len(editor.ops(*editor, type="MatMul")) == 2


def test_several_types_may_come_from_a_generator(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    some = editor.ops(type=(kind for kind in ("MatMul", "Relu")), scope=iter(["net"]))
    assert some.expression == "editor.ops(type=['MatMul', 'Relu'], scope='net')"
    assert eval(str(some), {"editor": editor}) == some
    assert set(some.connected(until=None)) > set(some)
    with pytest.raises(UnknownName, match="until names 3"):
        some.connected(until=3)
