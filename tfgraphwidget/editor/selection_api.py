"""Selecting: every way to say in Python which ops are meant. GraphEditor is one of these."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

from tfgraphwidget.argument_checks import Checked
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph import boundary, control_flow, query, selectors
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import Op
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.naming import free_name


class Selecting(Checked, ABC):
    """What gives selections on one index.

    Where ops and tensors are asked for, names will do ("net/dense/MatMul", "x:0"), and so will the `tf.Operation`s,
    `tf.Tensor`s and variables themselves, and other selections. All raise UnknownName for what is not in this graph.
    """

    @property
    @abstractmethod
    def index(self) -> GraphIndex:
        """The graph as it is now."""

    @abstractmethod
    def _names(self, given: Any) -> tuple[str, ...]:
        """The names of what was given, checked."""

    def _one(self, given: Any) -> str:
        """The name of the one op or tensor that was given."""
        names = self._names(given)
        if len(names) != 1:
            raise UnknownName(f"{len(names)} ops were given where one is meant; name it: 'scope/op'.")
        return names[0]

    def ops(self, *names: Any) -> Selection:
        """The named ops; a tensor's name chooses that tensor, see `Selection.passthroughs`.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.ops("x", "net/logits").ops
        ('x', 'net/logits')
        """
        return selectors.ops(self.index, *self._names(names))

    def between(self, inputs: Any, outputs: Any) -> Selection:
        """The ops between two boundaries of tensors or ops; see `graph.boundary.between`. Raises NoPath.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.between("x:0", "net/hidden/MatMul:0").ops
        ('net/hidden/w', 'net/hidden/MatMul/ReadVariableOp', 'net/hidden/MatMul')
        """
        return boundary.between(self.index, self._names(inputs), self._names(outputs))

    def paths(self, first: Any, last: Any) -> Selection:
        """All ops on any path from one op or tensor to another, both ends included. Raises NoPath.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.paths("net/hidden/Relu", "loss").ops
        ('net/hidden/Relu', 'net/logits', 'cross_entropy/cross_entropy', 'loss')
        """
        return boundary.paths(self.index, self._one(first), self._one(last))

    def path(self, first: Any, last: Any) -> Selection:
        """The ops of one shortest path. Raises NoPath.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.path("x", "net/logits").ops
        ('x', 'net/hidden/MatMul', 'net/hidden/Add', 'net/hidden/Relu', 'net/logits')
        """
        return boundary.path(self.index, self._one(first), self._one(last))

    def upstream(
        self,
        *names: Any,
        stop_at: Any = (),
        within: Selection | None = None,
        controls: bool = True,
        inclusive: bool = True,
    ) -> Selection:
        """The given ops and everything they need, along tensors and, with `controls`, control inputs.

        A tensor stands for the op that makes it. Tensors of `stop_at` are not crossed; what is not `within` is not
        reached. Without `inclusive`, the given ops are left out.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.upstream("net/hidden/Relu", stop_at="net/hidden/MatMul:0").ops
        ('net/hidden/b', 'net/hidden/Add/ReadVariableOp', 'net/hidden/Add', 'net/hidden/Relu')
        """
        stops = self._names(stop_at)
        how = {"stop_at": stops, "within": within, "controls": controls, "inclusive": inclusive}
        return selectors.upstream(self.index, *self._names(names), **how)

    def downstream(
        self,
        *names: Any,
        stop_at: Any = (),
        within: Selection | None = None,
        controls: bool = True,
        inclusive: bool = True,
    ) -> Selection:
        """The given ops and everything that needs them; a tensor stands for the ops that read it.

        The options are those of `upstream`.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.downstream("net/hidden/Relu", within=editor.scope("net")).ops
        ('net/hidden/Relu', 'net/logits')
        """
        stops = self._names(stop_at)
        how = {"stop_at": stops, "within": within, "controls": controls, "inclusive": inclusive}
        return selectors.downstream(self.index, *self._names(names), **how)

    def enclosed(self, seeds: Any, by: Any, *, inclusive: bool = True, controls: bool = False) -> Selection:
        """All that hangs together with the ops `seeds`, edges taken either way, up to the ops `by`.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.enclosed("labels", by="cross_entropy/cross_entropy").ops
        ('labels', 'cross_entropy/Shape', 'cross_entropy/cross_entropy')
        """
        ends = self._names(seeds), self._names(by)
        return selectors.enclosed(self.index, *ends, inclusive=inclusive, controls=controls)

    def scope(self, *names: str) -> Selection:
        """All ops inside the name scopes, nested scopes included. Raises UnknownName.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> len(editor.scope("net/hidden")), len(editor.scope("net"))
        (15, 22)
        """
        return selectors.scope(self.index, *names)

    def matching(self, pattern: str | re.Pattern[str]) -> Selection:
        """Ops in whose name the regular expression is found. Raises GraphEditError for what is none.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.matching("^net/.*MatMul$").ops
        ('net/hidden/MatMul',)
        """
        return selectors.matching(self.index, pattern)

    def find(self, text: Any) -> Selection:
        """The ops that fit a query, the language of the search box: terms with spaces between, all of which must fit.

        A word is found in names and types: "softmax". `type:Conv2D`, `name:bias`, `dtype:float32`, `shape:?x224x224x3`
        or `shape:[None, 10]` (of any output; * is any size, ... any number of them), `attr:strides=[1,2,2,1]` or
        `attr:strides`, `device:GPU`, `scope:net/block1`, `is:` variable, trainable, constant, input, loop, door or
        stateful. `/expression/` is a regular one, found in the name, or behind a key: `type:/^Conv/`. `*` in a value is
        any text, `-` before a term means all that do not fit, quotes keep spaces and colons. A type, dtype or scope
        that there is means itself alone, else all of which it is a part. Upper and lower case are the same, but in
        regular expressions: `/(?i)relu/`.

        Raises GraphEditError for a query that makes no sense, and for an expression that takes over a second.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.find("shape:?x3 -gradients").ops
        ('net/logits', 'cross_entropy/cross_entropy')
        """
        return query.find(self.index, text)

    def of_type(self, *types: str) -> Selection:
        """Ops of the given types, for example "Conv2D". Raises UnknownName for a type that no op here has.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.of_type("Placeholder").ops
        ('x', 'labels')
        """
        return selectors.of_type(self.index, *types)

    def where(self, holds: Callable[[Op], object]) -> Selection:
        """The ops for which a function of a `graph.op.Op` says true: `editor.where(lambda op: op.device == "")`.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.where(lambda op: op.type == "MatMul" and op.name.startswith("net/")).ops
        ('net/hidden/MatMul', 'net/logits')
        """
        return selectors.where(self.index, holds)

    def fan_out(self, at_least: int) -> Selection:
        """Ops whose tensors are read by so many ops or more.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.fan_out(4).ops
        ('net/hidden/w', 'net/hidden/b', 'net/w', 'cross_entropy/cross_entropy')
        """
        return selectors.fan_out(self.index, at_least)

    def trainable(self) -> Selection:
        """The handles of the trainable variables; `.variables` says more of each.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.trainable().ops
        ('net/hidden/w', 'net/hidden/b', 'net/w')
        """
        return selectors.trainable(self.index)

    def producing(self, *, dtype: Any = "*", shape: Any = "*") -> Selection:
        """Ops with an output of such a dtype and static shape.

        `dtype` is a `tf.DType` or a name with wildcards: "float*", "*_ref". `shape` is "*" for any, None for an unknown
        rank, or one entry for each dimension: its size, None for an unknown one, "*" for any, once ... for any number.
        Shapes that a file does not tell are inferred by TensorFlow at the first question: seconds for 50,000 ops.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.producing(dtype="int64").ops, editor.producing(dtype="float*", shape=[None, 3]).ops[0]
        (('labels',), 'net/logits')
        """
        return selectors.producing(self.index, dtype=dtype, shape=shape)

    def load(self, path: str | PathLike[str]) -> Selection:
        """The selection that `Selection.save` wrote. Raises UnknownName when an op of it is not in this graph.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/part.json"
        >>> editor.scope("net/hidden").save(path)
        >>> len(editor.load(path))
        15
        """
        return selectors.load(self.index, path)

    def loops(self) -> dict[str, Selection]:
        """The v1 while loops by name, outermost first; each with all that runs in it. `graph.control_flow` says more.

        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> tf.compat.v1.disable_control_flow_v2()
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.while_loop(lambda x: x < 9.0, lambda x: [x * 2.0], [tf.constant(1.0)], name="loop")
        >>> tf.compat.v1.enable_control_flow_v2()
        >>> list(tgw.edit(graph).loops())
        ['loop/while_context']
        """
        return self._framed("loops", control_flow.loops(self.index))

    def conditionals(self) -> dict[str, Selection]:
        """The v1 conditionals by name, outermost first; each with its Switches, branches and Merges.

        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> tf.compat.v1.disable_control_flow_v2()
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(2.0), name="cond")
        >>> tf.compat.v1.enable_control_flow_v2()
        >>> list(tgw.edit(graph).conditionals())
        ['cond']
        """
        # The gradient of a branch that was not taken leaves a Switch by itself: no conditional to a person.
        return self._framed("conditionals", (block for block in control_flow.conditionals(self.index) if block.merges))

    def _framed(self, what: str, found: Iterable[control_flow.Loop | control_flow.Conditional]) -> dict[str, Selection]:
        named: dict[str, Selection] = {}
        for block in found:
            name = free_name(block.name, {known.lower() for known in named})  # after two imports, two have one name
            named[name] = Selection.of(self.index, sorted(block.ops), f"editor.{what}()[{name!r}]")
        return named
