"""Variables where ops and tensors are asked for: handles and references, old variables and those in
parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
import tfgraphwidget.graph_editor as ge
from tests.graph_editor.corpus import names

v1 = tf.compat.v1


class Cube:
    """y = w * w * w with w = 3, its gradient, another variable u = 5, and a session that holds
    both.
    """

    def __init__(self, *, resource: bool) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.w = v1.get_variable("w", initializer=3.0, use_resource=resource)
            self.u = v1.get_variable("u", initializer=5.0, use_resource=resource)
            self.other = v1.get_variable("other", initializer=7.0, use_resource=not resource)
            self.y = tf.multiply(tf.multiply(self.w, self.w, name="mul1"), self.w, name="mul2")
            self.gradient = tf.gradients(self.y, self.w, name="grad")[0]
            self.two = tf.constant(2.0, name="two")
            self.session = v1.Session()
            self.session.run(v1.global_variables_initializer())

    def value(self, fetches: Any) -> Any:
        return self.session.run(fetches)

    def view(self) -> ge.SubGraphView:
        """The two products, with what they alone read of the variable."""
        inside = [
            op for op in self.graph.get_operations() if op.name.split("/")[0] in ("mul1", "mul2")
        ]
        return ge.sgv(inside).remap_outputs([self.y])


@pytest.fixture(params=[True, False], ids=["resource", "reference"])
def cube(request: pytest.FixtureRequest) -> Iterator[Cube]:
    """The cube of a variable of either kind."""
    made = Cube(resource=request.param)
    yield made
    made.session.close()


def test_a_variable_is_replaced_by_a_tensor_wherever_it_is_read(cube: Cube) -> None:
    assert cube.value(ge.graph_replace(cube.y, {cube.w.ref(): cube.two})) == 8


def test_a_variable_is_replaced_by_another_of_either_kind(cube: Cube) -> None:
    assert cube.value(ge.graph_replace(cube.y, {cube.w.ref(): cube.u})) == 125
    assert cube.value(ge.graph_replace(cube.y, {cube.w.ref(): cube.other})) == 343


def test_a_tensor_is_replaced_by_the_value_of_a_variable(cube: Cube) -> None:
    square = cube.graph.get_tensor_by_name("mul1:0")
    assert cube.value(ge.graph_replace(cube.y, {square.ref(): cube.u})) == 15


def test_a_step_of_gradient_descent_is_unrolled_as_asked_for_since_2018(cube: Cube) -> None:
    with cube.graph.as_default():
        after = cube.w - 0.1 * cube.gradient
    assert cube.value(ge.graph_replace(cube.y, {cube.w.ref(): after})) == pytest.approx(0.3**3)
    assert cube.value(cube.y) == 27


def test_variables_among_the_targets_give_their_values(cube: Cube) -> None:
    assert cube.value(
        ge.graph_replace([cube.gradient, cube.w, cube.u], {cube.w.ref(): cube.u})
    ) == [75, 5, 5]
    assert cube.value(ge.graph_replace(cube.w, {cube.w.ref(): cube.two})) == 2
    assert ge.graph_replace([cube.y, cube.u], {cube.w.ref(): cube.two})[1] is cube.u


def test_a_view_is_copied_with_other_variables_for_its_inputs(cube: Cube) -> None:
    for replacement, expected in ((cube.two, 8), (cube.u, 125), (cube.other, 343)):
        view, _ = ge.copy_with_input_replacements(cube.view(), {cube.w.ref(): replacement})
        (output,) = view.outputs
        assert cube.value(output) == expected


def test_a_view_is_copied_to_another_graph_onto_a_variable_there(cube: Cube) -> None:
    graph = tf.Graph()
    with graph.as_default():
        there = v1.get_variable("there", initializer=4.0, use_resource=hasattr(cube.w, "handle"))
        view, _ = ge.copy_with_input_replacements(
            cube.view(), {cube.w.ref(): there}, dst_graph=graph
        )
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            assert session.run(view.outputs[0]) == 64


def test_copies_know_whose_gradient_they_compute_as_in_the_test_of_tensorflow_1(cube: Cube) -> None:
    replaced = {
        cube.w.value().ref() if not hasattr(cube.w, "handle") else cube.w.ref(): cube.gradient
    }
    result = ge.graph_replace(cube.gradient, replaced, dst_scope="res")
    of = cube.graph.get_operation_by_name
    assert of("grad/mul1_grad/Mul_1")._original_op.name == "mul1"
    assert of("res/grad/mul1_grad/Mul_1")._original_op.name == "res/mul1"
    assert cube.value(result) == 3 * 27**2


def test_the_clone_of_an_editor_knows_it_too(cube: Cube) -> None:
    editor = tgw.edit(cube.graph, session=cube.session)
    editor.clone(editor.ops(matching="^(mul1|mul2|grad)(/|$)"), into="twin")
    editor.clone(editor.ops(matching="^grad/"), into="half")
    of = cube.graph.get_operation_by_name
    assert of("twin/grad/mul1_grad/Mul_1")._original_op is of("twin/mul1")
    assert of("half/grad/mul1_grad/Mul_1")._original_op is of("mul1")
    other = tf.Graph()
    editor.clone(editor.ops(matching="^grad/"), into="far", graph=other, init="none")
    assert other.get_operation_by_name("far/grad/mul1_grad/Mul_1")._original_op is None


def test_a_transformer_asks_its_handler_for_the_op_whose_gradient_it_is(cube: Cube) -> None:
    transformer = ge.Transformer()
    asked = []
    transformer.transform_original_op_handler = lambda _, op: asked.append(op.name)
    transformer(ge.sgv(cube.graph), cube.graph, "all")
    assert sorted(set(asked)) == ["mul1", "mul2"]


def test_a_variable_represents_its_op_and_its_tensor(cube: Cube) -> None:
    own = cube.graph.get_tensor_by_name("w:0")
    assert ge.make_list_of_op([cube.w, cube.y.op]) == [cube.w.op, cube.y.op]
    assert ge.make_list_of_t(cube.w)[0] is own
    assert ge.sgv(cube.w).ops == [cube.w.op]
    assert ge.select_ops(cube.w, [cube.u]) == [cube.w.op, cube.u.op]
    assert ge.get_forward_walk_ops(cube.w) == ge.get_forward_walk_ops(own)
    assert ge.get_backward_walk_ops([cube.w]) == [cube.w.op]
    assert ge.get_consuming_ops(cube.w) == ge.get_consuming_ops(own)
    assert ge.get_generating_ops([cube.w, cube.u]) == [cube.w.op, cube.u.op]
    assert ge.util.get_unique_graph([cube.w]) is cube.graph
    assert ge.util.find_corresponding(cube.w, cube.graph) is own
    assert ge.ControlOutputs(cube.graph).get(cube.w) == ()
    view = ge.SubGraphView(passthrough_ts=[cube.u, cube.w])
    assert view.input_index(cube.w) == 1
    assert view.is_passthrough(cube.w)
    assert names(view.remap_inputs([cube.w]).inputs) == ["w:0"]


def test_edges_and_control_edges_of_variables_are_changed(cube: Cube) -> None:
    assert ge.reroute_ts(cube.u, cube.w, can_modify=cube.y.op.inputs[1].op) >= 0
    assert ge.swap_ts(cube.w, cube.u) > 0
    with pytest.raises(ValueError, match="neither fits in the other's place"):
        ge.swap_ts(cube.w, cube.two)
    ge.add_control_inputs(cube.y.op, cube.u)
    assert cube.y.op.control_inputs == [cube.u.op]
    ge.remove_control_inputs(cube.y.op, [cube.u])
    assert cube.y.op.control_inputs == []


def test_a_placeholder_for_a_variable_has_its_name_and_takes_its_value(cube: Cube) -> None:
    with cube.graph.as_default():
        made = ge.make_placeholder_from_tensor(cube.w)
    assert (made.op.name, made.dtype, made.shape) == ("geph__w_0", tf.float32, ())


def test_what_has_become_of_a_variable_is_a_variable(cube: Cube) -> None:
    kept = [
        op for op in cube.graph.get_operations() if op.name.split("/")[0] in ("w", "mul1", "mul2")
    ]
    _, info = ge.copy(kept, dst_scope="twin")
    copy = info.transformed(cube.w)
    assert copy.name == "twin/w:0"
    assert any(copy is held for held in cube.graph.get_collection("variables"))
    assert info.original(copy) is cube.w
    assert info.transformed("w:0").name == "twin/w:0"
    assert info.transformed(cube.u) is None


def test_an_op_that_takes_the_variable_itself_is_named_when_a_tensor_cannot_represent_it() -> None:
    with tf.Graph().as_default():
        table, other = (
            v1.get_variable(name, [4, 2], use_resource=True) for name in ("table", "other")
        )
        small = v1.get_variable("small", [3], use_resource=True)
        row = tf.nn.embedding_lookup(table, [1], name="row")
        with pytest.raises(
            ValueError, match="'row', a ResourceGather, takes the variable 'table:0' itself"
        ):
            ge.graph_replace(row, {table.ref(): tf.zeros([4, 2])})
        with pytest.raises(ValueError, match="'small:0' has shape"):
            ge.graph_replace(row, {table.ref(): small})
        assert ge.graph_replace(row, {table.ref(): other}).shape == [1, 2]


def test_a_variable_read_inside_a_v1_loop_is_replaced_by_another() -> None:
    v1.disable_control_flow_v2()
    with tf.Graph().as_default(), v1.Session() as session:
        w, u = (
            v1.get_variable(name, initializer=value, use_resource=True)
            for name, value in (("w", 2.0), ("u", 3.0))
        )
        y = tf.while_loop(lambda x: x < 10, lambda x: [x * w], [tf.constant(1.0)])[0]
        session.run(v1.global_variables_initializer())
        assert session.run([y, ge.graph_replace(y, {w.ref(): u})]) == [16, 27]
        with pytest.raises(
            ValueError, match=r"takes the variable 'w:0' itself|lies inside a while loop"
        ):
            ge.graph_replace(y, {w.ref(): tf.constant(5.0)})


def test_a_variable_in_parts_is_replaced_part_by_part() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        how = {"partitioner": v1.fixed_size_partitioner(2), "initializer": v1.ones_initializer()}
        w, u = (v1.get_variable(name, [4, 2], **how) for name in ("w", "u"))
        total = tf.reduce_sum(w)
        session.run(v1.global_variables_initializer())
        session.run([part.assign(part * 2) for part in u])
        assert session.run(ge.graph_replace(total, {w: u})) == 16
        assert session.run(ge.graph_replace(total, {w: [tf.zeros([2, 2]), tf.ones([2, 2])]})) == 4
        with pytest.raises(ValueError, match="in 2 parts cannot be replaced by 1"):
            ge.graph_replace(total, {w: tf.zeros([4, 2])})
        assert [part.shape for part in ge.graph_replace(w, {w: u})] == [[2, 2], [2, 2]]
        assert ge.sgv(w).ops == [part.op for part in w]


def test_an_eager_variable_is_refused_in_a_sentence(cube: Cube) -> None:
    eager = tf.Variable(1.0)
    for call in (
        lambda: ge.sgv(eager),
        lambda: ge.graph_replace(eager, {cube.w.ref(): cube.two}),
        lambda: ge.graph_replace(cube.y, {eager.ref(): cube.two}),
        lambda: ge.graph_replace(cube.y, {cube.w.ref(): eager}),
        lambda: ge.swap_ts(eager, cube.w),
    ):
        with pytest.raises(TypeError, match="An eager variable is of no graph"):
            call()
