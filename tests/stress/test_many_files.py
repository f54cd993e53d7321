"""Damaged files where TensorFlow is not installed: a sample of `many_files`, and what it has
found.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

import tfgraphwidget as tgw
from tests.stress import ROUNDS, count, many_files, refusal_of, seeds
from tfgraphwidget.errors import NotAGraph
from tfgraphwidget.sources import tf_protos

pytestmark = pytest.mark.no_tensorflow


def test_damaged_files_are_refused_or_can_be_used_without_tensorflow() -> None:
    tried, wrong = many_files.run(_FILES * ROUNDS, seeds(1)[0])
    count("files", tried.total())
    assert not wrong, "\n".join(wrong)
    assert tried.total() == _FILES * ROUNDS


def test_damaged_bytes_are_refused_or_opened() -> None:
    checked = [
        many_files.check_opening(f"opened/{seeds(1)[0]}/{number}") for number in range(40 * ROUNDS)
    ]
    count("files opened from bytes", len(checked))
    assert not any(wrong for _, wrong in checked), checked


_FILES = 50


# What was found


def graph(change: Callable[[Any], object]) -> bytes:
    """x -> relu -> y, with a change."""
    graph_def = tf_protos.GraphDef()
    for name, op, inputs in (
        ("x", "Placeholder", []),
        ("relu", "Relu", ["x"]),
        ("y", "Identity", ["relu"]),
    ):
        node = graph_def.node.add(name=name, op=op, input=inputs)
        node.attr["dtype" if op == "Placeholder" else "T"].type = 1
    change(graph_def)
    return graph_def.SerializeToString()


def test_a_colocation_that_is_no_utf_8_names_no_op() -> None:
    editor = tgw.edit(
        graph(lambda graph_def: graph_def.node[1].attr["_class"].list.s.append(b"loc:@\x88"))
    )
    assert editor.clone("x:0", "y:0", into="copy").ops == ("copy/relu", "copy/y")
    editor.rename("relu", "renamed")
    editor.bypass("renamed")
    editor.undo()
    assert len(repr(editor.inspect("renamed"))) > 100


def rezipped(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """An editor's bytes with the contents of entries changed."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as entries, zipfile.ZipFile(file, "w") as written:
        for name in entries.namelist():
            written.writestr(name, change(name, entries.read(name)))
    return file.getvalue()


def test_an_editor_whose_edits_and_graph_are_both_damaged_is_refused() -> None:
    editor = tgw.edit(graph(lambda _: None))
    editor.rename("relu", "renamed")

    def damage(name: str, content: bytes) -> bytes:
        return {"edits.json": content.replace(b"relu", b"gone"), "graph.meta": b"\x0a\xff"}.get(
            name, content
        )

    with pytest.raises(
        NotAGraph,
        match=r"This data is damaged \(graph.meta is not a MetaGraphDef\); write it again",
    ):
        tgw.edit(rezipped(bytes(editor), damage))


@pytest.mark.parametrize("entry", ["tfgraphwidget.json", "edits.json"])
def test_json_that_is_nested_too_deep_in_an_editor_is_refused(entry: str) -> None:
    editor = tgw.edit(graph(lambda _: None))
    editor.rename("relu", "renamed")
    damaged = rezipped(
        bytes(editor), lambda name, content: b"[" * 100_000 if name == entry else content
    )
    with pytest.raises(NotAGraph, match=r"This data is damaged \(maximum recursion depth exceeded"):
        tgw.edit(damaged)


def constant(sizes: list[int], dtype: int) -> bytes:
    """A constant with one value, which claims to be repeated to a shape, and an op that reads
    it.
    """

    def change(graph_def: Any) -> None:
        node = graph_def.node.add(name="c", op="Const")
        node.attr["dtype"].type = node.attr["value"].tensor.dtype = dtype
        for size in sizes:
            node.attr["value"].tensor.tensor_shape.dim.add(size=size)
        getattr(node.attr["value"].tensor, {1: "float_val", 7: "string_val"}[dtype]).append(
            {1: 1.0, 7: b"a"}[dtype]
        )
        graph_def.node.add(name="sum", op="AddV2", input=["c", "c"]).attr["T"].type = dtype

    return graph(change)


@pytest.mark.parametrize("dtype", [1, 7])
@pytest.mark.parametrize(
    "sizes",
    [
        [2**31 - 1],
        [2**33],
        [-(2**63)],
        [-1, -3],
        [2**31 - 1, 0],
        [2**63 - 1, 0],
        [0, 2**31],
        [2**62, 4],
    ],
)
def test_a_constant_that_claims_more_than_memory_holds_is_shown_and_left_alone(
    sizes: list[int], dtype: int
) -> None:
    editor = tgw.edit(constant(sizes, dtype))
    for use in (
        editor.view.scene, editor.lint, editor.__bytes__, editor.passes.merge_duplicates,
        editor.passes.fold_constants,
        lambda: repr(editor.inspect("c")), lambda: editor.match("AddV2(1, _)"),
        lambda: editor.passes.cast("float16"),
    ):  # fmt: skip
        refusal_of(use)
    assert editor._core.index.types[editor._core.index.op("c")] == "Const"
