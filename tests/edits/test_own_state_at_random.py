"""Clones of random networks with random control inputs: the copy's state is its own, whatever runs
before its ops.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import ExitStack

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.runtime.live.clone_result import Copy

FEEDS = {"x:0": [1.0, 2.0], "fed:0": [0.5, 0.25], "number:0": 3}


class RandomNet:
    """x -> y, with variables, updates, loops and conditionals; each op may wait for some that were
    made before it.
    """

    def __init__(self, seed: int) -> None:
        self.random, self.graph = random.Random(seed), tf.Graph()
        with self.graph.as_default():
            v1.disable_control_flow_v2()
            self.fed = v1.placeholder(tf.float32, [2], name="fed")
            self.number = v1.placeholder(tf.int32, [], name="number")
            self.waited: list[tf.Operation] = [self.fed.op, self.number.op]
            self.resource = self.random.random() < 0.6
            self.variables = [self.variable(f"v{k}") for k in range(self.random.randint(1, 4))]
            self.hidden = v1.placeholder(tf.float32, [2], name="x")
            for _ in range(self.random.randint(4, 14)):
                with ExitStack() as nested:
                    for _ in range(self.random.randint(0, 2)):
                        some = self.random.sample(
                            self.waited, min(len(self.waited), self.random.randint(1, 2))
                        )
                        nested.enter_context(tf.control_dependencies(some))
                    self.random.choice(
                        (self.layer, self.layer, self.constant, self.update, self.loop, self.choose)
                    )()
            tf.reduce_sum(self.hidden, name="y")
            v1.enable_control_flow_v2()

    def variable(self, name: str) -> tf.Variable:
        start = (
            tf.random.uniform([2], 0.5, 1.5, seed=self.random.randrange(100))
            if self.random.random() < 0.5
            else None
        )
        value = tf.constant([0.5, 1.5]) if start is None else start
        return v1.Variable(value, name=name, use_resource=self.resource)

    def layer(self) -> None:
        """Some computing with a variable, made here or before."""
        if self.random.random() < 0.4:
            self.variables.append(self.variable(f"v{len(self.variables)}"))
        read = self.random.choice(self.variables).read_value()
        self.waited.append(read.op)
        self.hidden = tf.nn.relu(self.hidden * read) + tf.constant([0.1, 0.2])
        self.waited.append(self.hidden.op)

    def constant(self) -> None:
        """A constant, or what is computed from constants alone."""
        self.hidden = self.hidden + tf.square(tf.constant([0.3, 0.1]))

    def update(self) -> None:
        """A write that later ops may wait for: of a constant, of what is fed, of what the network
        computes.
        """
        variable = self.random.choice(self.variables)
        value = self.random.choice(
            (tf.constant([0.01, 0.01]), self.fed * 0.01, variable * self.fed, self.hidden * 0.01)
        )
        write = self.random.choice((v1.assign_add, v1.assign_sub, v1.assign))(variable, value)
        self.waited.append(
            tf.group(write) if self.random.random() < 0.5 else getattr(write, "op", write)
        )
        if self.random.random() < 0.3:
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, self.waited[-1])

    def loop(self) -> None:
        """A loop over what is fed, for others to wait for, or over what the network computes."""
        over = self.random.choice((self.fed, self.hidden))
        with tf.control_dependencies(None):
            found = v1.while_loop(
                lambda i, _: i < self.number, lambda i, v: (i + 1, v * 0.5 + 0.1), [0, over]
            )[1]
        if over is self.hidden:
            self.hidden = found
        self.waited.append(tf.identity(found).op)

    def choose(self) -> None:
        """A conditional on what is fed."""
        with tf.control_dependencies(None):
            found = v1.cond(self.number > 2, lambda: tf.square(self.fed), lambda: self.fed + 1.0)
        self.waited.append(found.op)


def read_by(tensor: tf.Tensor, stop: Iterable[str]) -> set[str]:
    """The variables from which a tensor is computed."""
    seen, stack = set(), [tensor]
    while stack:
        at = stack.pop()
        if at.name not in seen and at.name not in stop:
            seen.add(at.name)
            stack += at.op.inputs
    graph = tensor.graph
    kinds = {"VarHandleOp", "VariableV2", "Variable"}
    return {
        name.partition(":")[0] for name in seen if graph.get_tensor_by_name(name).op.type in kinds
    }


def check_own(
    editor: tgw.GraphEditor, copy: Copy, originals: list[tf.Variable], stop: Iterable[str]
) -> None:
    """The copy has the originals' values in variables of its own, and training it changes no other
    variable.
    """
    session, before = editor.session, editor.session.run(originals)
    read = read_by(copy["y:0"], stop)
    assert read <= {v.op.name for v in copy.variables}
    known = dict(zip((v.op.name for v in originals), before, strict=True))
    for variable in copy.variables:
        assert np.array_equal(
            session.run(variable), known[variable.op.name.removeprefix(f"{copy.scope}/")]
        )
    with editor.graph.as_default():
        descent = v1.train.GradientDescentOptimizer(0.1)
        own = list(copy.variables)
        train = descent.minimize(copy["y:0"], var_list=own) if read else copy["y:0"].op
    for _ in range(3):
        session.run(train, FEEDS)
    for variable, value in zip(originals, before, strict=True):
        assert np.array_equal(session.run(variable), value), variable.name


def opened(net: RandomNet) -> v1.Session:
    """A session in which every variable has a value; fed, since an initial value may wait for what
    nobody runs yet.
    """
    session = v1.Session(graph=net.graph)
    for k, variable in enumerate(net.variables):
        session.run(variable.initializer, {variable.initializer.inputs[1]: [0.5 + k, 1.5 + k]})
    return session


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.sample(6)
def test_what_a_copy_reads_is_its_own_and_training_it_leaves_every_original_variable_alone(
    seed: int,
) -> None:
    net = RandomNet(seed)
    with opened(net) as session:
        editor = tgw.edit(net.graph, session=session)
        preview = editor.preview(editor.clone, "x:0", "y:0", into="copy")
        copy = editor.clone("x:0", "y:0", into="copy")
        assert (preview.shared, copy.shared) == ((), ())
        assert {state.name for state in preview.new} == {
            v.op.name.removeprefix("copy/") for v in copy.variables
        }
        check_own(editor, copy, net.variables, ["x:0"])


@pytest.mark.parametrize("seed", range(100, 115))
@pytest.mark.sample(4)
def test_so_it_is_of_chosen_ops_that_hold_no_variable(seed: int) -> None:
    net = RandomNet(seed)
    with opened(net) as session:
        editor = tgw.edit(net.graph, session=session)
        way = editor.between("x:0", "y:0").whole()
        state = {"VarHandleOp", "VariableV2", "ReadVariableOp"}
        chosen = way - editor.ops(where=lambda op: op.type in state)
        copy = editor.clone(chosen, into="copy")
        assert copy.shared == ()
        check_own(editor, copy, net.variables, copy.outside)


@pytest.mark.parametrize("seed", range(200, 215))
@pytest.mark.sample(4)
def test_into_another_graph_only_what_is_fed_becomes_a_placeholder(seed: int) -> None:
    net = RandomNet(seed)
    other = tf.Graph()
    with opened(net) as session, v1.Session(graph=other) as elsewhere:
        editor = tgw.edit(net.graph, session=session)
        own = [state.name for state in editor.preview(editor.clone, "x:0", "y:0", into="here").new]
        copy = editor.clone("x:0", "y:0", into="copy", graph=other, session=elsewhere)
        assert [v.op.name for v in copy.variables] == [f"copy/{name}" for name in own]
        stand_ins = {name for name, _ in copy.report.placeholders}
        computed = {name for name in stand_ins if net.graph.get_tensor_by_name(name).op.inputs}
        fed = read_by_all(net.graph, computed)
        assert all(fed.values()), fed
        assert stand_ins - computed <= {"x:0", "fed:0", "number:0"}


def read_by_all(graph: tf.Graph, names: Iterable[str]) -> dict[str, bool]:
    """Whether each of some tensors is computed from a placeholder."""
    found = {}
    for name in names:
        seen, stack = set(), [graph.get_tensor_by_name(name).op]
        while stack:
            at = stack.pop()
            if at not in seen:
                seen.add(at)
                stack += [tensor.op for tensor in at.inputs]
        found[name] = any(op.type == "Placeholder" for op in seen)
    return found
