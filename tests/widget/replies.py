"""What tests read out of replies."""

from tfgraphwidget.widget import protocol as p


def text_of(reply: p.Reply) -> str:
    """What an edit has done, in words."""
    assert isinstance(reply, p.SceneReply)
    assert reply.edited is not None
    return reply.edited.text
