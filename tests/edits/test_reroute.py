"""Reroute, swap and connect: who reads what afterwards, what runs, and what undo brings back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.nothing import says_nothing
from tfgraphwidget.errors import GraphEditError, NameTaken, UnknownName

X = np.float32([[1, 2]])


def reads(editor: tgw.GraphEditor) -> dict[str, list[str]]:
    """Op name -> what it reads and waits for."""
    return {node.name: list(node.input) for node in editor._core.index.nodes}


def fed(editor: tgw.GraphEditor) -> dict[str, list[str]]:
    """The same, less constants and placeholders."""
    return {name: inputs for name, inputs in reads(editor).items() if inputs}


def run(graph: tf.Graph, fetch: str, feeds: dict[str, Any]) -> Any:
    with v1.Session(graph=graph) as session:
        return session.run(fetch, feeds)


def refused(edit: Any) -> GraphEditError:
    """What a call is refused with."""
    with pytest.raises(GraphEditError) as report:
        edit()
    return report.value


@pytest.fixture
def editor(line: tf.Graph) -> tgw.GraphEditor:
    """On x -> a -> b -> c."""
    return tgw.edit(line)


# Reroute


def test_consumers_of_one_tensor_read_another(line: tf.Graph, editor: tgw.GraphEditor) -> None:
    before = reads(editor)
    report = editor.reroute("b:0", to="x:0")
    assert reads(editor)["c"] == ["x", "c/y"]
    assert report.changed == ("c",)
    assert np.array_equal(run(line, "c:0", {"x:0": X}), X * 2)
    assert editor.undo() == 'editor.reroute(old="b:0", to="x:0")'
    assert reads(editor) == before
    assert np.array_equal(run(line, "c:0", {"x:0": X}), X * 8)
    editor.redo()
    assert np.array_equal(run(line, "c:0", {"x:0": X}), X * 2)


def test_tensors_and_ops_themselves_may_be_given(line: tf.Graph, editor: tgw.GraphEditor) -> None:
    editor.reroute(line.get_tensor_by_name("b:0"), to=line.get_operation_by_name("x"))
    assert reads(editor)["c"] == ["x", "c/y"]


def test_an_op_that_reads_a_tensor_twice_reads_the_other_one_twice() -> None:
    with tf.Graph().as_default() as graph:
        x, y = (v1.placeholder(tf.float32, [], name=name) for name in "xy")
        tf.multiply(x, x, name="square")
        tf.multiply(x, y, name="product")
    editor = tgw.edit(graph)
    assert editor.reroute("x:0", to="y:0").changed == ("square", "product")
    assert fed(editor) == {"square": ["y", "y"], "product": ["y", "y"]}
    assert run(graph, "square:0", {"y:0": 3.0}) == 9


def test_only_and_never_name_ops_scopes_and_selections(shared_weights: tf.Graph) -> None:
    with shared_weights.as_default():
        v1.placeholder(tf.float32, [2, 2], name="other")
    editor = tgw.edit(shared_weights)
    a, b = editor.ops(scope="a"), editor.ops(scope="b")
    for given in (
        {"only": "a/y"},
        {"only": "a"},
        {"only": ["a/", "b/x"]},
        {"never": b},
        {"only": a},
        {"only": [a]},
    ):
        read = f"{reads(editor)['a/y'][0]}:0"
        assert editor.reroute(read, to="other:0", **given).changed == ("a/y",)
        editor.undo()
    editor.reroute("a/x:0", to="other:0", only=a)
    assert "only=editor.ops(scope='a')" in editor.history.to_script().text
    says_nothing(
        editor.reroute("b/x:0", to="other:0", only=editor.ops()),
        "No op among the ops that only= and never= leave reads 'b/x:0'",
    )


def test_several_pairs_are_rerouted_at_once_or_not_at_all(diamond: tf.Graph) -> None:
    editor = tgw.edit(diamond)
    before = reads(editor)
    assert editor.reroute(["left:0", "right:0"], to=["right:0", "left:0"]).changed == ("join",)
    assert reads(editor)["join"] == ["right", "left"]
    editor.undo()
    assert reads(editor) == before
    with pytest.raises(GraphEditError, match="cycle"):
        editor.reroute(["left:0", "other:0"], to=["right:0", "join:0"])
    assert reads(editor) == before
    with pytest.raises(
        GraphEditError, match="is 2 tensors and 'right:0' is 1 tensor, so they make no pairs"
    ):
        editor.reroute(["left:0", "x:0"], to="right:0")
    with pytest.raises(GraphEditError, match="'left' is named twice"):
        editor.reroute(["left:0", "left:0"], to=["x:0", "right:0"])


def test_an_op_represents_all_its_tensors() -> None:
    with tf.Graph().as_default() as graph:
        x, y = (v1.placeholder(tf.float32, [6], name=name) for name in "xy")
        one, _ = tf.split(x, 2, name="one"), tf.split(y, 2, name="two")
        tf.split(y, 3, name="three")
        tf.subtract(*one, name="difference")
    editor = tgw.edit(graph)
    editor.reroute("one", to="two")
    assert reads(editor)["difference"] == ["two", "two:1"]
    with pytest.raises(GraphEditError, match="'two' is 2 tensors and 'three' is 3 tensors"):
        editor.reroute("two", to="three")


def test_those_that_wait_for_an_op_wait_for_another() -> None:
    with tf.Graph().as_default() as graph:
        a, b = tf.no_op(name="a"), tf.no_op(name="b")
        for name, waited in (("z", [a]), ("y", [a, b]), ("x", [b])):
            with tf.control_dependencies(waited):
                tf.no_op(name=name)
    editor = tgw.edit(graph)
    assert editor.reroute("^a", to="^b").changed == ("z", "y")
    assert fed(editor) == {"z": ["^b"], "y": ["^b"], "x": ["^b"]}
    editor.undo()
    assert fed(editor) == {"z": ["^a"], "y": ["^a", "^b"], "x": ["^b"]}
    editor.reroute(["^a", "^b"], to=["^b", "^a"])
    assert fed(editor) == {"z": ["^b"], "y": ["^a", "^b"], "x": ["^a"]}
    with pytest.raises(GraphEditError, match="so they make no pairs"):
        editor.reroute("^a", to="b")


def test_tensors_and_control_edges_make_no_pairs(editor: tgw.GraphEditor) -> None:
    with pytest.raises(GraphEditError, match="pair a tensor with control edges"):
        editor.reroute("a:0", to="^x")


def test_a_move_of_no_edge_is_no_step(editor: tgw.GraphEditor) -> None:
    says_nothing(editor.reroute("c:0", to="x:0"), "No op reads 'c:0'")
    says_nothing(editor.reroute("a:0", to="a:0"), "already")
    with pytest.raises(UnknownName, match="has no op 'nothing'"):
        editor.reroute("nothing:0", to="x:0")
    with pytest.raises(UnknownName, match="no tensor 'a:1': op 'a' has 1 output"):
        editor.reroute("a:1", to="x:0")
    assert editor.history.done == ()


def test_the_usual_way_to_put_an_op_after_a_tensor_is_offered(
    line: tf.Graph, editor: tgw.GraphEditor
) -> None:
    with line.as_default():
        tf.negative(line.get_tensor_by_name("a:0"), name="new")
    error = refused(lambda: editor.reroute("a:0", to="new:0"))
    assert error.why == (
        "'new' cannot read or wait for itself; choose what does not depend on it, such as "
        'editor.reroute(old="a:0", to="new:0", never=["new"]).'
    )
    editor.apply(error.fixes[0])
    assert reads(editor)["b"] == ["new", "b/y"]
    assert reads(editor)["new"] == ["a"]


def test_a_cycle_is_refused_with_its_path(editor: tgw.GraphEditor) -> None:
    error = refused(lambda: editor.reroute("x:0", to="c:0"))
    assert "'a' cannot come after 'c', which needs it: a → b → c → a would be a cycle" in error.why
    assert error.ops == ("a", "b", "c")


def test_the_middle_of_a_long_cycle_is_left_out() -> None:
    with tf.Graph().as_default() as graph:
        t = v1.placeholder(tf.float32, [], name="x")
        for k in range(20):
            t = tf.negative(t, name=f"n{k}")
    error = refused(lambda: tgw.edit(graph).reroute("x:0", to="n19:0"))
    assert "n0 → n1 → n2 → n3 → 14 more → n18 → n19 → n0 would be" in error.why


def test_a_control_edge_may_close_a_cycle_too() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")
        first = tf.no_op(name="first")
        with tf.control_dependencies([first]):
            tf.negative(x, name="last")
        tf.negative(x, name="other")
    editor = tgw.edit(graph)
    with pytest.raises(GraphEditError, match="first → last → first"):
        editor.add_control_inputs("first", "last")
    editor.add_control_inputs("first", "other")
    with pytest.raises(GraphEditError, match="other → first → last → other"):
        editor.connect("last:0", "other", 0)


def test_two_edges_that_make_no_cycle_together_are_moved_at_once(diamond: tf.Graph) -> None:
    editor = tgw.edit(diamond)
    with diamond.as_default():
        tf.negative(diamond.get_tensor_by_name("left:0"), name="l2")
        tf.negative(diamond.get_tensor_by_name("right:0"), name="r2")
    before = reads(editor)
    editor.swap("left:0", "right:0")
    assert (reads(editor)["join"], reads(editor)["l2"], reads(editor)["r2"]) == (
        ["right", "left"],
        ["right"],
        ["left"],
    )
    editor.undo()
    assert reads(editor) == before


# Dtypes, shapes, references


@pytest.fixture
def unlike() -> tgw.GraphEditor:
    """x (2, 3) -> y, beside tensors that are other than x."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 3], name="x")
        v1.placeholder(tf.int32, [2, 3], name="whole")
        v1.placeholder(tf.string, [2, 3], name="text")
        v1.placeholder(tf.float32, [3, 2], name="turned")
        v1.placeholder(tf.float32, [6], name="flat")
        v1.placeholder(tf.float32, [7], name="seven")
        v1.placeholder(tf.float32, None, name="unknown")
        with v1.name_scope("layer"):
            tf.matmul(x, tf.ones([3, 4], name="ones"), name="y")
    return tgw.edit(graph)


def test_a_dtype_that_differs_is_refused_and_a_cast_is_offered(unlike: tgw.GraphEditor) -> None:
    error = refused(lambda: unlike.reroute("x:0", to="whole:0"))
    assert error.why == (
        "'whole:0' is int32 (2, 3) and cannot replace 'x:0', which is float32 (2, 3), at input 0 "
        "of 'layer/y'; give "
        'a tensor of float32, or insert a Cast: editor.reroute(old="x:0", to="whole:0", '
        'adapter="Cast").'
    )
    assert error.ops == ("layer/y", "whole")
    report = unlike.apply(error.fixes[0])
    assert (report.added, report.changed) == (("layer/Cast",), ("layer/y",))
    assert reads(unlike)["layer/y"] == ["layer/Cast", "layer/ones"]
    assert np.array_equal(
        run(unlike.graph, "layer/y:0", {"whole:0": np.ones((2, 3))}), np.full((2, 4), 3)
    )
    unlike.undo()
    assert "layer/Cast" not in reads(unlike)
    assert refused(lambda: unlike.reroute("x:0", to="text:0")).fixes == ()


@pytest.mark.parametrize(
    ("to", "fixes"), [("turned", ["Transpose", "Reshape"]), ("flat", ["Reshape"]), ("seven", [])]
)
def test_a_shape_that_does_not_do_is_refused_and_what_fixes_it_is_offered(
    unlike: tgw.GraphEditor, to: str, fixes: list[str]
) -> None:
    before = reads(unlike)
    error = refused(lambda: unlike.reroute("x:0", to=f"{to}:0"))
    assert "layer/y" in error.why
    assert str(tuple(unlike.graph.get_tensor_by_name(f"{to}:0").shape.as_list())) in error.why
    assert [fix.adapter for fix in error.fixes] == fixes
    assert all(f'adapter="{fix}"' in error.why for fix in fixes[:1])
    assert reads(unlike) == before
    value = np.arange(6, dtype=np.float32)
    for fix in error.fixes:
        unlike.apply(fix)
        given = value.reshape(unlike.graph.get_tensor_by_name(f"{to}:0").shape)
        found = run(unlike.graph, "layer/y:0", {f"{to}:0": given})
        wanted = given.T if fix.adapter == "Transpose" else given.reshape(2, 3)
        assert np.array_equal(found, wanted @ np.ones((3, 4)))
        unlike.undo()
    assert reads(unlike) == before


def test_another_shape_that_the_consumer_takes_is_no_reason_to_refuse(
    unlike: tgw.GraphEditor,
) -> None:
    with unlike.graph.as_default():
        v1.placeholder(tf.float32, [5, 3], name="five")
    report = unlike.reroute("x:0", to="five:0")
    assert [(s.op, s.before, s.after) for s in report.shapes] == [("layer/y", (2, 4), (5, 4))]
    assert run(unlike.graph, "layer/y:0", {"five:0": np.ones((5, 3))}).shape == (5, 4)
    unlike.reroute("five:0", to="unknown:0")
    assert run(unlike.graph, "layer/y:0", {"unknown:0": np.ones((1, 3))}).shape == (1, 4)


def test_one_fix_serves_all_that_need_the_same(unlike: tgw.GraphEditor) -> None:
    with unlike.graph.as_default():
        x = unlike.graph.get_tensor_by_name("x:0")
        tf.add(x, x, name="twice")
    assert unlike.reroute("x:0", to="whole:0", adapter="Cast").added == ("layer/Cast",)
    assert (reads(unlike)["twice"], reads(unlike)["layer/y"][0]) == (
        ["layer/Cast", "layer/Cast"],
        "layer/Cast",
    )


def test_a_fix_that_fixes_nothing_is_refused(unlike: tgw.GraphEditor) -> None:
    with pytest.raises(GraphEditError, match="A Cast fixes nothing here"):
        unlike.reroute("x:0", to="unknown:0", adapter="Cast")
    with pytest.raises(
        GraphEditError, match="adapter='Turn' is not what reroute takes; give '', 'Cast'"
    ):
        unlike.reroute("x:0", to="turned:0", adapter="Turn")


def test_new_ops_are_named_as_asked_and_in_code_where_it_matters(unlike: tgw.GraphEditor) -> None:
    unlike.reroute("x:0", to="whole:0", adapter="Cast", names=["layer/to_float"])
    assert reads(unlike)["layer/y"][0] == "layer/to_float"
    unlike.undo()
    unlike.reroute("x:0", to="whole:0", adapter="Cast")
    unlike.undo()
    # A graph without the hidden layer/Cast would call it so: the line says the name that this graph
    # gave.
    unlike.reroute("x:0", to="whole:0", adapter="Cast")
    assert 'adapter="Cast", names=["layer/Cast_1"])' in unlike.history.to_script().text
    with pytest.raises(NameTaken, match="'layer/Y' is taken in this graph; 'layer/Y_1' is free"):
        unlike.reroute("whole:0", to="x:0", adapter="Cast", names=["layer/Y"])


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_who_changes_a_variable_goes_on_changing_one(resource: bool) -> None:
    with tf.Graph().as_default() as graph:
        v, w = (
            v1.get_variable(n, [2], initializer=v1.zeros_initializer(), use_resource=resource)
            for n in "vw"
        )
        v1.assign(v, [1.0, 2.0], name="put")
        tf.identity(w + 0.0, name="shown")
        tf.constant([3.0, 4.0], name="plain")
    editor = tgw.edit(graph)
    put = next(
        n.name
        for n in editor._core.index.nodes
        if n.op in {"Assign", "AssignVariableOp"} and n.name.startswith("put")
    )
    with pytest.raises(
        GraphEditError, match="changes the variable" if not resource else "is float32 .* resource"
    ):
        editor.connect("plain:0", put, 0)
    editor.connect("w:0", put, 0)
    with v1.Session(graph=graph) as session:
        with graph.as_default():
            session.run(v1.global_variables_initializer())
        session.run(put)
        assert session.run("shown:0").tolist() == [1, 2]


def test_a_reference_may_feed_what_wants_a_value() -> None:
    with tf.Graph().as_default() as graph:
        v1.get_variable("v", initializer=[1.0, 2.0], use_resource=False)
        tf.negative(v1.placeholder(tf.float32, [2], name="x"), name="y")
        v1.global_variables_initializer()
    editor = tgw.edit(graph)
    editor.connect("v:0", "y", 0)
    with v1.Session(graph=graph) as session:
        session.run("init")
        assert session.run("y:0").tolist() == [-1, -2]


# Swap


def test_two_tensors_exchange_their_consumers(diamond: tf.Graph) -> None:
    editor = tgw.edit(diamond)
    report = editor.swap("left:0", "right:0")
    assert (report.changed, reads(editor)["join"]) == (("join",), ["right", "left"])
    assert editor.undo() == 'editor.swap(a="left:0", b="right:0")'
    assert reads(editor)["join"] == ["left", "right"]


def two_towers() -> tgw.GraphEditor:
    """p -> one/mul -> one/out -> after_one, q -> two/mul -> two/out -> after_two."""
    with tf.Graph().as_default() as graph:
        for name, given in (("one", "p"), ("two", "q")):
            x = v1.placeholder(tf.float32, [], name=given)
            with v1.name_scope(name):
                out = tf.negative(
                    tf.multiply(x, 2.0 if name == "one" else 3.0, name="mul"), name="out"
                )
            tf.identity(out, name=f"after_{name}")
    return tgw.edit(graph)


@pytest.fixture
def towers() -> tgw.GraphEditor:
    return two_towers()


@pytest.mark.parametrize("kind", ["scope", "selection", "op"])
def test_two_parts_exchange_inputs_outputs_or_both(towers: tgw.GraphEditor, kind: str) -> None:
    def part(name: str) -> Any:
        if kind == "op":
            return f"{name}/out"
        return name if kind == "scope" else towers.ops(scope=name)

    inner = {"op": ("one/out", "two/out", "one/mul", "two/mul")}.get(
        kind, ("one/mul", "two/mul", "p", "q")
    )
    before = reads(towers)
    towers.swap(part("one"), part("two"), "inputs")
    assert (reads(towers)[inner[0]][0], reads(towers)[inner[1]][0]) == (inner[3], inner[2])
    assert reads(towers)["after_one"] == ["one/out"]
    towers.undo()
    towers.swap(part("one"), part("two"), "outputs")
    assert (reads(towers)["after_one"], reads(towers)["after_two"]) == (["two/out"], ["one/out"])
    assert reads(towers)[inner[0]] == before[inner[0]]
    towers.undo()
    towers.swap(part("one"), part("two"), "both")
    assert (reads(towers)["after_one"], reads(towers)[inner[0]][0]) == (["two/out"], inner[3])
    towers.undo()
    assert reads(towers) == before


def test_swaps_that_cannot_be_are_refused(towers: tgw.GraphEditor) -> None:
    for ends, why in (
        (("one", "one/out"), "Op 'one/out' is in 'one' and in 'one/out'"),
        (("one/out:0", "two/out"), "a tensor has consumers only"),
        (("one/mul", "two/out", "inputs"), "'one/mul' has 2 inputs and 'two/out' has 1 input"),
        (
            ("one", "two", "in"),
            "what='in' is not what swap takes; give 'inputs', 'outputs' or 'both'",
        ),
    ):
        with pytest.raises(GraphEditError) as error:
            towers.swap(*ends)
        assert why in error.value.why
    says_nothing(towers.swap("after_one", "after_two"), "No op reads 'after_one' and 'after_two'")
    assert refused(lambda: towers.swap("one/mul:0", "after_one:0")).fixes == ()


# Connect


def test_a_tensor_goes_to_an_input_by_number_or_to_the_only_one_that_fits(
    unlike: tgw.GraphEditor,
) -> None:
    with unlike.graph.as_default():
        tf.gather(unlike.graph.get_tensor_by_name("x:0"), 0, name="row")
        v1.placeholder(tf.int32, [], name="which")
    before = reads(unlike)["row"]
    unlike.connect("which:0", "row", 1)
    assert reads(unlike)["row"] == [before[0], "which", before[2]]
    unlike.undo()
    unlike.connect("unknown:0", "row")  # the others are whole numbers
    assert reads(unlike)["row"] == ["unknown", *before[1:]]
    with pytest.raises(GraphEditError, match="'which:0' gives 1 tensor and 'row' takes 3 inputs"):
        unlike.connect("which:0", "row")
    with pytest.raises(GraphEditError, match="There is no input 3 of 'row', which has 3 inputs"):
        unlike.connect("which:0", "row", 3)
    with pytest.raises(GraphEditError, match="name the op, or let the consumers"):
        unlike.connect("which:0", "row:0")
    with pytest.raises(GraphEditError, match="wait for the op"):
        unlike.connect("^which", "row", 1)


def test_what_a_part_gives_goes_to_the_inputs_of_another(towers: tgw.GraphEditor) -> None:
    before = reads(towers)
    towers.connect(towers.ops(scope="one"), towers.ops(scope="two"))
    assert reads(towers)["two/mul"][0] == "one/out"
    assert run(towers.graph, "after_two:0", {"p:0": 1.0}) == 6
    towers.undo()
    towers.connect("one", "two")
    assert reads(towers)["two/mul"][0] == "one/out"
    towers.undo()
    assert reads(towers) == before
    with pytest.raises(GraphEditError, match="gives 1 tensor and 'one/mul' takes 2 inputs"):
        towers.connect("two", "one/mul")
    towers.connect(["q:0", "q:0"], "one/mul")
    assert reads(towers)["one/mul"] == ["q", "q"]


# Control inputs


def test_control_inputs_are_added_and_removed(towers: tgw.GraphEditor) -> None:
    assert towers.add_control_inputs("after_two", ["one/out", "p"]).changed == ("after_two",)
    assert reads(towers)["after_two"] == ["two/out", "^one/out", "^p"]
    says_nothing(towers.add_control_inputs("after_two", "p"), "'after_two' waits for 'p' already")
    towers.remove_control_inputs("after_two", "p")
    with pytest.raises(GraphEditError, match="'after_two' does not wait for 'p'"):
        towers.remove_control_inputs("after_two", ["one/out", "p"])
    assert reads(towers)["after_two"] == ["two/out", "^one/out"]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="feed a value for placeholder tensor 'p'"
    ):
        run(towers.graph, "after_two:0", {"q:0": 1.0})
    towers.undo()
    towers.undo()
    assert reads(towers)["after_two"] == ["two/out"]


def test_every_line_does_the_same_again() -> None:
    first, again = two_towers(), two_towers()
    first.reroute("one/out:0", to="q:0", never=first.ops(scope="two"))
    first.swap(first.ops(scope="one"), "two", "inputs")
    first.connect(["q:0", "p:0"], "two/mul")
    first.bypass("two/out")
    first.detach("one/mul", outputs=False, names=["fed", "factor"])
    first.add_control_inputs("after_two", ["p"])
    first.remove_control_inputs("after_two", ["p"])
    first.reroute(["p:0"], to=["q:0"], only=["two/"])
    for step in first.history.done:
        eval(step.line, {"editor": again})
    assert reads(again) == reads(first)
    assert again.history.to_script().text == first.history.to_script().text


@pytest.mark.parametrize("is_file", [False, True], ids=["live", "file"])
def test_a_variable_takes_no_initial_value_of_another_shape(is_file):
    # TensorFlow's live graph takes it, and no saved one can be imported then.
    editor = tgw.example()
    editor = tgw.edit(editor.graph.as_graph_def()) if is_file else editor
    before = list(editor._core.index.nodes)
    with pytest.raises(GraphEditError, match=r"'net/w/Assign' cannot take 'loss:0' of shape \(\)"):
        editor.reroute("net/w/Initializer/Const:0", "loss:0")
    assert editor._core.index.nodes == before


def test_a_tensor_that_is_read_before_what_the_old_one_waited_for_is_said() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")
        with tf.control_dependencies([tf.no_op(name="check")]):
            checked = tf.identity(x, name="checked")
        doubled = tf.add(checked, checked, name="doubled")
        tf.negative(doubled, name="y")
    editor = tgw.edit(graph)
    done = editor.reroute("doubled:0", to="x:0")
    assert any(
        "'doubled:0' waits for 'check'; what reads 'x:0' in its place does not" in note
        for note in done.notes
    )
    editor.undo()
    done = editor.reroute("doubled:0", to="checked:0")
    assert not any("waits for" in note for note in done.notes)
