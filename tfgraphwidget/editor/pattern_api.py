"""Patterns: the methods of GraphEditor that find a structure of ops everywhere, and replace it
everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from tfgraphwidget import edits, sources
from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.graph import Selection, call, patterns
from tfgraphwidget.tf_types import OpsLike


class PatternAPI(ArgumentChecks):
    """Finds every place of the current graph where a pattern fits, and replaces them all.

    A pattern is a text, "BiasAdd(Conv2D(x, w=Const), b=Const)", or what `tfgraphwidget.pattern`
    returns.
    """

    _core: EditorCore

    def match(
        self,
        pattern: str | patterns.Pattern | Callable[..., object] | Selection,
        within: OpsLike | None = None,
        *,
        limit: int | None = None,
        functions: bool = False,
    ) -> patterns.Matches:
        """Find where a pattern fits.

        Identity ops and reads of variables between two ops are passed over, and inputs of
        commutative ops may stand in any order. A match never reaches across a function's body or
        out of a loop.

        Args:
            pattern: The pattern; see `tfgraphwidget.pattern`. A Selection means what is like it:
                its types, the edges between them, the attributes that say what they compute, and
                scalar constants by value.
            within: The ops that a match may consist of, as ops, name scopes or a Selection; None
                for all. Constants, variables and placeholders may lie outside.
            limit: How many matches are returned at most; None for all.
            functions: Search the functions that ops call, too.

        Returns:
            The matches, in topological order. `matches[0].x` is what the pattern calls x there,
            `matches[0].why` why that one cannot be replaced; `matches.near` lists places that
            almost fit. `editor.selection = matches` selects them.

        Raises:
            InvalidArgument: The pattern cannot be read, or an op type of it does not exist.
            GraphEditError: The search takes too long.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> hits = editor.match("Relu(Add|AddV2(MatMul(x, w), b))")
            >>> hits[0].x, hits[0].outputs, hits[0].ops
            ('x:0', ('net/hidden/Relu:0',),
             ('net/hidden/MatMul', 'net/hidden/Add', 'net/hidden/Relu'))
            >>> editor.selection = hits
            >>> editor.match("Relu6(Add|AddV2(x, b))").near[0].difference
            "'net/hidden/Relu' is Relu where the pattern has Relu6"
            >>> like = editor.ops("net/hidden/MatMul")
            >>> print(
            ...     tgw.pattern(like),
            ...     [hit.outputs for hit in editor.match(like, within=editor.ops(scope="net"))],
            ... )
            MatMul(x, Const|Variable) [('net/hidden/MatMul:0',), ('net/logits:0',)]
        """
        definition = patterns.pattern(pattern)
        part = () if within is None else self._core.arguments.part(within, ops=True)
        if within is not None:
            options = [f"within={part if not isinstance(part, str) else repr(part)}"]
        else:
            options = []
        options += [f"limit={limit}"] if limit is not None else []
        options += ["functions=True"] if functions else []
        return edits.rewrite.matches_of(
            self._core.executor.plan_context(),
            definition,
            part,
            limit=limit,
            functions=functions,
            op_types=sources.op_types,
            expression=call("match", [str(definition)], options) if definition.has_text else "",
        )
