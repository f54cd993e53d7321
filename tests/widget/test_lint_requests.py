"""The list of what may stand in the way of a graph: findings and signatures, each with the edit of
its button.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tfgraphwidget as tgw
from tfgraphwidget.edits import Bypass, Rename
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler

pytestmark = pytest.mark.no_tensorflow

MODELS = Path(__file__).parents[2] / "notebooks" / "models"


@pytest.fixture
def editor() -> tgw.GraphEditor:
    return tgw.edit(MODELS / "dqn_online_train.meta")


def test_a_finding_has_the_button_that_fixes_it(editor: tgw.GraphEditor) -> None:
    handler = RequestHandler(editor)
    reply, _ = handler.handle(p.Lint())
    assert isinstance(reply, p.LintReply)
    finding = next(each for each in reply.findings if each.code == "training-ops")
    # The closed group that represents them is lit in the drawing.
    groups = set(finding.ops) - set(editor._core.index.ids)
    assert groups
    assert groups <= set(editor.view.scene().names)
    assert finding.fix is not None
    handler.handle(p.Fix(line=finding.fix.line))
    assert len(editor.history.done) == 1
    after, _ = handler.handle(p.Lint())
    assert isinstance(after, p.LintReply)
    assert "training-ops" not in {each.code for each in after.findings}


def test_the_button_of_a_fix_without_words_of_its_own_says_the_name_of_the_edit(
    editor: tgw.GraphEditor,
) -> None:
    offers = RequestHandler(editor)._edits.offer(
        Bypass(editor._core.index.names[3]), Rename("a", "b")
    )
    assert [offer.text for offer in offers] == ["Bypass", "Name it 'b'"]


def test_likely_inputs_and_outputs_are_proposed_as_a_signature_and_listed_when_there_is_one(
    editor: tgw.GraphEditor,
) -> None:
    handler = RequestHandler(editor)
    reply, _ = handler.handle(p.Lint())
    assert isinstance(reply, p.LintReply)
    (likely,) = reply.signatures
    assert likely.text == "No signature yet; likely obs → Mean"
    assert "Mean" in likely.ops
    editor.signatures.add("serving_default")
    reply, _ = handler.handle(p.Lint("tflite"))
    assert isinstance(reply, p.LintReply)
    (there,) = reply.signatures
    assert there.text == "serving_default: obs=obs:0 → Mean=Mean:0"
    assert there.edit is not None
    assert there.edit.line == 'editor.signatures.remove(name="serving_default")'
    listed, _ = handler.handle(p.ListSignatures())
    assert listed == p.SignatureList((there,))
    assert (there.name, likely.name) == ("serving_default", "")
    assert there.outputs == next(iter(editor.signatures.values())).outputs


def test_an_edit_that_changes_no_op_says_what_it_did_and_closed_groups_are_named_with_their_ops(
    editor: tgw.GraphEditor,
) -> None:
    handler = RequestHandler(editor)
    reply, _ = handler.handle(p.Change("add_signature", (), ("name",), ('"serving_default"',)))
    assert isinstance(reply, p.SceneReply)
    assert reply.edited is not None
    assert reply.edited.text == "Added signature serving_default."
    view = editor._core.view
    inside = next(
        name for name in editor._core.index.names if view.with_closed_groups([name]) != (name,)
    )
    _, group = view.with_closed_groups([inside])
    assert inside in editor._core.view.holding(group).ops
    editor.view.expand()
    assert view.with_closed_groups([inside]) == (inside,)
    assert view.with_closed_groups(["nowhere/", "absent"]) == ("nowhere/", "absent")


def test_what_a_signature_computes_is_opened_by_its_button(editor: tgw.GraphEditor) -> None:
    editor.signatures.add("serving_default")
    handler = RequestHandler(editor)
    reply, _ = handler.handle(p.Lint())
    assert isinstance(reply, p.LintReply)
    (row,) = reply.signatures
    reply, _ = handler.handle(p.OpenSignature(row.name))
    assert isinstance(reply, p.SceneReply)
    assert editor.outputs == tuple(tensor for _, tensor in row.outputs)
