"""Loops and conditionals: what the index tells is what TensorFlow's own control-flow contexts
tell.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import control_flow_pb2
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from tests.conftest import MODELS, v1
from tfgraphwidget.graph.control_flow import (
    V1_CONTROL_FLOW,
    Conditional,
    Loop,
    conditionals,
    control_flow,
    control_flow_ops,
    enclosing_blocks,
    loops,
)
from tfgraphwidget.graph.index import GraphIndex, build

NodeDef = v1.NodeDef


@pytest.fixture(autouse=True)
def old_control_flow() -> Iterator[None]:
    """tf.cond and tf.while_loop as TensorFlow 1 built them; afterwards as before."""
    new = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    yield
    if new:
        v1.enable_control_flow_v2()


class Cell:
    """A recurrent cell; Keras 3 brings none that v1.nn.dynamic_rnn takes."""

    output_size = state_size = 3

    def __init__(self, name: str) -> None:
        self.name = name

    def zero_state(self, batch_size: Any, dtype: tf.DType) -> tf.Tensor:
        return tf.zeros([batch_size, 3], dtype)

    def __call__(
        self, x: tf.Tensor, state: tf.Tensor, scope: Any = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        with v1.variable_scope(self.name):
            w = v1.get_variable("w", [x.shape[-1] + 3, 3], use_resource=False)
            new = tf.tanh(tf.concat([x, state], 1) @ w)
        return new, new


def given() -> tuple[tf.Tensor, tf.Tensor]:
    return v1.placeholder(tf.float32, [], name="x"), v1.placeholder(tf.bool, [], name="p")


def times(n: int, body: Callable[[tf.Tensor], tf.Tensor], start: tf.Tensor) -> tf.Tensor:
    """`body`, n times over."""
    return v1.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, body(a)), [0, start])[1]


def invariant() -> None:
    x, _ = given()
    times(3, lambda a: a * x + tf.square(x), x)


def parallel() -> None:
    x, _ = given()
    a, b = times(3, lambda v: v * x, x), times(3, lambda v: v + 1.0, x)
    times(2, lambda v: v * a, b)


def nested_loops() -> None:
    x, _ = given()
    y = times(3, lambda a: times(2, lambda b: b * x + a, times(2, lambda b: b - a, a)), x)
    tf.gradients(y, [x])


def cond_in_loop() -> None:
    x, p = given()
    y = times(
        3,
        lambda a: v1.cond(a > 1, lambda: v1.cond(p, lambda: a * x, lambda: a / x), lambda: a + 1.0),
        x,
    )
    tf.gradients(y, [x])


def loop_in_cond() -> None:
    x, p = given()
    y = v1.cond(p, lambda: times(3, lambda a: a * x, tf.constant(1.0)), lambda: x)
    tf.gradients(y, [x])


def loop_in_cond_in_loop() -> None:
    x, p = given()
    y = times(3, lambda a: v1.cond(p, lambda: times(2, lambda b: b * a, x), lambda: a - x), x)
    tf.gradients(y, [x])
    tf.gradients(y, [x])


def constant_branches() -> None:
    _, p = given()
    v1.cond(p, lambda: tf.constant(1.0), lambda: tf.constant(2.0))


def nested_conds_with_gradients() -> None:
    x, p = given()
    w = v1.get_variable("w", [])
    y = v1.cond(p, lambda: x * w, lambda: tf.constant(2.0))
    z = v1.cond(p, lambda: y * 2.0, lambda: v1.cond(x > 1, lambda: x, lambda: x - 1))
    tf.gradients(z, [x, w])
    tf.gradients(z, [x])


def one_predicate_for_all() -> None:
    _, training = given()
    x = v1.placeholder(tf.float32, [None, 4], name="rows")
    for i in range(3):
        mean = v1.get_variable(f"mean{i}", [4], trainable=False, use_resource=False)
        now = tf.reduce_mean(x * v1.get_variable(f"w{i}", [4], use_resource=False), 0)
        v1.cond(training, lambda m=mean, n=now: v1.assign(m, n), lambda m=mean: m)
        x = x - v1.cond(training, lambda n=now: n, lambda m=mean: m.read_value())
        x = v1.cond(training, lambda v=x: tf.nn.dropout(v, 0.5), lambda v=x: tf.identity(v))
    v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(x))


def side_effects_on_references() -> None:
    x, p = given()
    w = v1.get_variable("w", [], use_resource=False)
    v1.cond(p, lambda: v1.assign_add(w, x), lambda: v1.assign(w, 0.0))
    v1.cond(p, lambda: tf.group(v1.assign_add(w, x)), tf.no_op)
    v1.while_loop(
        lambda i: i < 3,
        lambda i: v1.cond(p, lambda: i + tf.cast(v1.assign_add(w, 1.0), tf.int32), lambda: i + 1),
        [0],
    )
    v1.assert_positive(x).mark_used()


def case() -> None:
    x, _ = given()
    pairs = [(x > 1, lambda: x * 2), (x > 2, lambda: tf.constant(3.0)), (x > 3, lambda: x)]
    y = v1.case(pairs, default=lambda: x - 1, exclusive=False) + v1.case(
        pairs, default=lambda: x, exclusive=True
    )
    tf.gradients(y, [x])


def map_and_scan() -> None:
    rows = v1.placeholder(tf.float32, [None, 3], name="rows")
    y = tf.scan(tf.multiply, tf.map_fn(lambda row: tf.reduce_sum(row) * tf.reduce_max(rows), rows))
    tf.gradients(y, [rows])


def seq2seq() -> None:
    x = v1.placeholder(tf.float32, [4, 7, 3], name="x")
    lengths = v1.placeholder(tf.int32, [4], name="lengths")
    _, state = v1.nn.dynamic_rnn(Cell("encoder"), x, sequence_length=lengths, dtype=tf.float32)
    decoder, output = Cell("decoder"), tf.TensorArray(tf.float32, 10)

    def step(i: tf.Tensor, state: tf.Tensor, written: tf.TensorArray) -> tuple[Any, ...]:
        new, state = decoder(
            v1.cond(tf.equal(i % 2, 0), lambda: state, lambda: tf.stop_gradient(state)), state
        )
        return i + 1, state, written.write(i, new)

    with v1.variable_scope("decode"):
        output = v1.while_loop(lambda i, *_: i < 10, step, [0, state, output])[2]
    v1.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(output.stack()))


def names_elsewhere() -> None:
    x, p = given()

    def branch() -> tf.Tensor:
        with tf.name_scope("elsewhere/"):
            return tf.square(x * 2.0, name="square")

    tf.gradients(v1.cond(p, branch, lambda: x), [x])


NATIVE = [
    invariant, parallel, nested_loops, cond_in_loop, loop_in_cond, loop_in_cond_in_loop,
    constant_branches,
    nested_conds_with_gradients, one_predicate_for_all, side_effects_on_references, case,
    map_and_scan, seq2seq,
    names_elsewhere,
]  # fmt: skip


def built(write: Callable[[], None]) -> tuple[tf.Graph, GraphIndex]:
    with tf.Graph().as_default() as graph:
        write()
    return graph, build(graph.as_graph_def().node)


def contexts_of(op: tf.Operation) -> Iterator[Any]:
    """TensorFlow's contexts around an op, innermost first."""
    context = op._control_flow_context
    while context is not None:
        yield context
        context = context.outer_context


def name_of(context: Any) -> str:
    return context.name if context.IsWhileContext() else context.name.rpartition("/")[0]


def in_backward_loop(op: tf.Operation) -> bool:
    """Whether an op runs in the backward loop of a loop, or is there to start one."""
    readers = [reader for tensor in op.outputs for reader in tensor.consumers()]
    return any(c.IsWhileContext() and c.grad_state for c in contexts_of(op)) or (
        op.type == "Const"
        and bool(readers)
        and all(r.type == "Enter" and in_backward_loop(r) for r in readers)
    )


def truth(graph: tf.Graph, index: GraphIndex) -> dict[Any, set[int]]:
    """What runs in each of TensorFlow's contexts, but for two things.

    To TensorFlow a Switch before a branch lies in the branch, though it runs in either case. And
    the backward loop of a loop in a conditional counts to that conditional, though it is a part of
    the conditional's gradient.
    """
    found: dict[Any, set[int]] = {}
    for op in graph.get_operations():
        for context in contexts_of(op):
            inside = found.setdefault(context, set())
            loop = context.IsWhileContext()
            before = (
                not loop and op.type in {"Switch", "RefSwitch"} and op.inputs[1] is context.pred
            )
            if loop or not (before or in_backward_loop(op)):
                inside.add(index.ids[op.name])
    return found


@pytest.mark.parametrize("write", NATIVE, ids=lambda write: write.__name__)
@pytest.mark.sample(4)
def test_loops_are_those_of_tensorflow(write: Callable[[], None]) -> None:
    graph, index = built(write)
    contexts = {c.name: (c, ops) for c, ops in truth(graph, index).items() if c.IsWhileContext()}
    assert sorted(loop.name for loop in loops(index)) == sorted(contexts)
    for loop in loops(index):
        context, ops = contexts[loop.name]
        assert loop.ops == ops
        assert f"{index.names[loop.condition]}:0" == context.pivot.name
        assert {index.names[i] for i in loop.exits} == {t.op.name for t in context.loop_exits}
        assert {index.names[i] for i in loop.enters} >= {t.op.name for t in context.loop_enters}
        assert len(loop.merges) == len(loop.next_iterations) == len(loop.switches)


@pytest.mark.parametrize("write", NATIVE, ids=lambda write: write.__name__)
@pytest.mark.sample(4)
def test_branches_are_those_of_tensorflow(write: Callable[[], None]) -> None:
    graph, index = built(write)
    found: dict[str, list[Conditional]] = {}
    for conditional in conditionals(index):
        found.setdefault(conditional.name, []).append(conditional)
    for context, ops in truth(graph, index).items():
        if not context.IsWhileContext():
            [conditional] = found[name_of(context)]
            assert conditional.branches[context.branch] == ops
            assert index.ids[context.pivot.op.name] in ops
    assert all(c.switches and set(c.switches + c.merges) <= c.ops for c in conditionals(index))


@pytest.mark.parametrize("write", NATIVE, ids=lambda write: write.__name__)
@pytest.mark.sample(4)
def test_what_is_around_an_op_is_what_tensorflow_says(write: Callable[[], None]) -> None:
    graph, index = built(write)
    for op in graph.get_operations():
        contexts = list(contexts_of(op))
        if contexts and not in_backward_loop(op):
            report = enclosing_blocks(index, index.ids[op.name])
            assert [block.name for block in report][-len(contexts) :] == [
                name_of(c) for c in contexts
            ]
            for inner, outer in pairwise(report):
                assert inner.outer is outer
                assert inner.ops <= outer.ops


def test_the_graphs_of_these_tests_hold_every_kind_of_control_flow() -> None:
    kinds = {kind for write in NATIVE for kind in built(write)[1].types} | set(frozen().types)
    assert kinds >= V1_CONTROL_FLOW - {"RefExit", "RefNextIteration", "RefMerge"}


def test_a_loop_of_a_few_ops_is_reported_whole() -> None:
    _, index = built(invariant)
    [loop] = loops(index)
    assert loop.name == "while/while_context"
    assert index.names[loop.condition or 0] == "while/LoopCond"
    assert [index.names[i] for i in loop.enters] == [
        "while/Enter",
        "while/Enter_1",
        "while/mul/Enter",
    ]
    assert [index.names[i] for i in loop.merges] == ["while/Merge", "while/Merge_1"]
    assert loop.outer is None
    assert index.ids["while/add/y"] in loop.ops  # a constant, which only waits for the loop
    assert {index.names[i] for i in range(len(index)) if i not in loop.ops} == {
        "x",
        "p",
        "while/Const",
    }


def test_the_gradient_of_a_conditional_is_one_of_its_own_on_the_same_predicate() -> None:
    _, index = built(
        lambda: tf.gradients(
            v1.cond(given()[1], lambda: v1.get_variable("w", []) * 2.0, lambda: 1.0),
            v1.trainable_variables(),
        )
    )
    forward, backward = conditionals(index)
    assert forward.name == "cond"
    assert backward.name.startswith("gradients")
    assert forward.predicate == backward.predicate == (index.ids["p"], 0)
    assert forward.ops.isdisjoint(backward.ops)


def test_a_loop_imported_twice_is_two_loops_of_one_name() -> None:
    graph, _ = built(nested_loops)
    definition = graph.as_graph_def()
    with tf.Graph().as_default() as twice:
        x = v1.placeholder(tf.float32, [])
        [y] = tf.import_graph_def(definition, {"x": x}, ["while/Exit_1:0"], name="one")
        tf.import_graph_def(definition, {"x": y}, name="two")
    index = build(twice.as_graph_def().node)
    assert len(loops(index)) == 2 * len(loops(build(definition.node)))
    for loop in loops(index):
        assert len({index.names[i].partition("/")[0] for i in loop.ops}) == 1
        assert loop.outer is None or loop.ops < loop.outer.ops


def test_one_loop_imported_in_each_branch_is_a_loop_in_each_branch() -> None:
    graph, _ = built(invariant)

    def copy(x: tf.Tensor, name: str) -> tf.Tensor:
        return tf.import_graph_def(graph.as_graph_def(), {"x": x}, ["while/Exit_1:0"], name=name)[0]

    def both() -> None:
        x, p = given()
        v1.cond(p, lambda: copy(x, "one"), lambda: copy(x, "two"))

    _, index = built(both)
    [conditional] = conditionals(index)
    one, two = loops(index)
    assert one.ops <= conditional.true
    assert two.ops <= conditional.false


def frozen() -> GraphIndex:
    """A TensorFlow 2 function with While, If and Case, nested, as graph of v1 control flow."""
    weight = tf.Variable(3.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)], autograph=False)
    def f(x: tf.Tensor) -> tf.Tensor:
        positive = x > 0
        y = tf.cond(positive, lambda: x * 2.0, lambda: x - weight)
        z = tf.cond(positive, lambda: y + 1.0, lambda: tf.constant(4.0))
        inner = lambda b: tf.cond(b > 4, lambda: b, lambda: b + 0.5)  # noqa: E731
        z = tf.while_loop(
            lambda a: a < 9, lambda a: tf.while_loop(lambda b: b < 7, inner, [a])[0] + y, [z]
        )[0]
        return tf.switch_case(
            tf.cast(x, tf.int32), [lambda: y, lambda: z, lambda: times(2, tf.square, y)]
        )

    v1.enable_control_flow_v2()
    function = f.get_concrete_function()
    return build(
        convert_variables_to_constants_v2(function, lower_control_flow=True)
        .graph.as_graph_def()
        .node
    )


def test_a_frozen_functions_loops_and_conditionals_are_found() -> None:
    index = frozen()
    report = [
        (type(b), b.name.rpartition("/")[2], b.outer and b.outer.name.rpartition("/")[2])
        for b in control_flow(index)
    ]
    assert sorted(report, key=str) == [
        (Conditional, "cond", "while"),
        (Conditional, "cond", None),
        (Conditional, "cond_1", None),
        (Conditional, "indexed_case", None),
        (Loop, "while", "indexed_case"),
        (Loop, "while", "while"),
        (Loop, "while", None),
    ]


def test_a_lowered_case_has_a_branch_per_function() -> None:
    index = frozen()
    [case] = [c for c in conditionals(index) if len(c.branches) == 3]
    assert all(case.branches)
    assert index.types[case.predicate[0]] == "Cast"
    [loop] = [b for b in loops(index) if b.outer == case]
    assert loop.ops <= case.branches[2]


def test_nothing_outside_of_frames_is_reported_to_be_inside() -> None:
    index = frozen()
    inside = control_flow_ops(index)
    for i in range(len(index)):
        if i not in inside:
            assert index.types[i] not in {
                "Enter",
                "Exit",
                "Switch",
                "_SwitchN",
                "NextIteration",
                "LoopCond",
                "Merge",
            }
    assert index.ids["x"] not in inside


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.meta")), ids=lambda path: path.stem)
def test_a_models_loops_are_those_of_its_collection(path: Path) -> None:
    meta = v1.MetaGraphDef.FromString(path.read_bytes())
    index = build(meta.graph_def.node)
    found = {loop.name: loop for loop in loops(index)}
    held = (
        meta.collection_def["while_context"].bytes_list.value
        if "while_context" in meta.collection_def
        else ()
    )
    for context in map(control_flow_pb2.WhileContextDef.FromString, held):
        loop = found[context.context_name]
        # A context's values are the tensors made inside, and those that came in from outside.
        came_in = {
            index.names[source] for enter in loop.enters for source in index.input_lists[enter]
        }
        inside = {index.names[i] for i in loop.ops}
        assert {value.partition(":")[0] for value in context.values_def.values} <= inside | came_in
        assert f"{index.names[loop.condition or 0]}:0" == context.pivot_name
        assert {f"{index.names[i]}:0" for i in loop.exits} == set(context.loop_exit_names)
    assert bool(found) == bool({"Enter", "RefEnter"}.intersection(index.types))


def test_a_graph_without_control_flow_has_none(line: tf.Graph) -> None:
    index = build(line.as_graph_def().node)
    assert control_flow(index) == ()
    assert control_flow_ops(index) == set()
    assert enclosing_blocks(index, 0) == ()


def test_halves_of_loops_and_conditionals_are_reported_as_far_as_they_go() -> None:
    index = build(
        [
            NodeDef(name="x", op="Placeholder"),
            NodeDef(name="e", op="Enter", input=["x"]),
            NodeDef(name="a", op="Neg", input=["e"]),
            NodeDef(name="s", op="Switch", input=["x", "x"]),
            NodeDef(name="b", op="Neg", input=["s:1"]),
            NodeDef(name="m", op="Merge", input=["x", "x"]),
            NodeDef(name="o", op="Exit", input=["x"]),
            NodeDef(name="n", op="NextIteration", input=["x"]),
            NodeDef(name="short", op="Switch", input=["x"]),
            NodeDef(name="far", op="Neg", input=["s:9"]),
        ]
    )
    loop, conditional = control_flow(index)
    assert isinstance(loop, Loop)
    assert (loop.name, loop.condition, loop.exits) == ("", None, ())
    assert [index.names[i] for i in sorted(loop.ops)] == ["e", "a"]
    assert isinstance(conditional, Conditional)
    assert [index.names[i] for i in sorted(conditional.true)] == ["b"]
    assert conditional.merges == ()
    # Reading an attribute that is not there must not make it.
    assert "frame_name" not in index.nodes[1].attr


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.sample(6)
def test_a_damaged_graph_gives_some_answer(seed: int) -> None:
    rng = random.Random(seed)
    _, index = built(loop_in_cond_in_loop)
    names, nodes = list(index.names), []
    for node in index.nodes:
        copy = NodeDef.FromString(node.SerializeToString())
        if rng.random() < 0.1:
            copy.op = rng.choice(
                ["Enter", "Exit", "Switch", "_SwitchN", "Merge", "NextIteration", "LoopCond", "Neg"]
            )
        if rng.random() < 0.1:
            copy.input.insert(0, f"{rng.choice(names)}:{rng.choice([0, 1, 2, 1_000_000])}")
        if rng.random() < 0.1:
            copy.input.append(f"^{rng.choice(names)}")
        if rng.random() < 0.1:
            del copy.input[:1]
        nodes.append(copy)
    rng.shuffle(nodes)
    blocks = control_flow(build(nodes))
    assert all(b.outer is None or (b.outer in blocks and b.ops <= b.outer.ops) for b in blocks)


def test_a_long_chain_of_switches_ends() -> None:
    chain = [
        NodeDef(name=f"s{i}", op="Switch", input=[f"s{(i - 1) % 3000}:1", f"s{(i * 7) % 3000}"])
        for i in range(3000)
    ]
    assert control_flow(build(chain))
