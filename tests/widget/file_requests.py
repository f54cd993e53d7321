"""What a page asks of a file's document, where TensorFlow is not installed: see
test_requests_without_tensorflow.py.
"""

from __future__ import annotations

import json
import sys

import tfgraphwidget as tgw
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler

CHANGES = [
    p.Change("rename", ("net/one/out",), ("new",), ('"renamed"',)),
    p.Change("bypass", ("net/one/out",)),
    p.Change("remove", ("net/one/out",), ("consumers",), ("true",)),
    p.Change("detach", ("net/one/out",)),
    p.Change("insert", ("net/one/out:0",), ("function",), ('"Tanh"',)),
    p.Change("replace", ("net/one/out",), ("by",), ('"Elu"',)),
    p.Change("reroute", ("net/one/out:0",), ("to",), ('"net/one/add:0"',)),
    p.Change("connect", ("net/one/add:0",), ("target", "k"), ('"net/two/MatMul"', "0")),
    p.Change("set_device", ("net/one/out",), ("device",), ('"/device:CPU:0"',)),
    p.Change("set_attr", ("net/two/MatMul",), ("name", "value"), ('"grad_a"', "true")),
    p.Change("set_constant", ("x:0",), ("value",), ("[[1, 2, 3]]",)),
    p.Change("set_input", ("x:0",), ("shape",), ("(8, 3)",)),
    p.Change("add_control_inputs", ("net/one/out",), ("ops",), ('"x:0"',)),
    p.Change("add_signature", (), ("name", "outputs"), ('"new"', '["net/logits:0"]')),
    p.Change("freeze", ("net/logits",)),
    p.Change("strip_training", ("net/logits",)),
]
REQUESTS = [
    *(
        p.Toggle("net/"),
        p.Inspect("net/one/out"),
        p.Inspect("net/one/w"),
        p.Search("net/one/out"),
        p.Mark("outputs", "net/one/out"),
    ),
    *(
        p.Crossings("outputs", "net/two/"),
        p.Targets("net/one/out:0"),
        p.Costs("flops"),
        p.Color("FLOPs"),
        p.Script(),
    ),
    *(
        p.Palette("Ta", "insert", ("net/one/out:0",)),
        p.Describe("Reshape", function=False, command="insert", what=("net/one/out:0",)),
    ),
    *(
        p.ListFormats(),
        p.Compare(show=True),
        p.Picture("svg"),
        p.Refresh(),
        p.Ping(),
        p.Feedable("net/one/out"),
    ),
    *(p.Preview(("x:0",), ("net/logits:0",), "copy"), p.Inputs("graph.pb"), p.Examine("net/one/w")),
]
EDITS = [*CHANGES, p.Clone(("x:0",), ("net/logits:0",), "copy"), p.Add("graph.pb", "added")]
X = p.Feed("x:0", "ones", "(1, 3)", 0.0, 1.0, "")
RUNS = [p.Probe("net/one/out", (X,)), p.Measure((X,))]


def answer(handler: RequestHandler, request: p.Request) -> list[str]:
    """The type of the reply, and the sentence of a refusal."""
    kind = f"{type(request).__name__} {getattr(request, 'command', '')}".strip()
    try:
        return [kind, type(handler.handle(request)[0]).__name__, ""]
    except GraphEditError as error:
        return [kind, type(error).__name__, str(error)]


def main(model: str, checkpoint: str) -> None:
    """Ask for everything, and print what the replies are."""
    replies = []
    for request in (*REQUESTS, *EDITS, *RUNS):
        handler = RequestHandler(tgw.edit(model, checkpoint=checkpoint))
        handler.handle(p.Open())
        replies.append(answer(handler, request))
        if request in EDITS:
            replies += [answer(handler, p.Undo()), answer(handler, p.Redo())]
    sys.stdout.write(json.dumps(replies))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
