"""Cases of the corpus that change edges: how they are run, and what they are to leave."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import tensorflow as tf

import tfgraphwidget.graph_editor as ge
from tests.graph_editor.corpus import Asked, names
from tests.graph_editor.transformed import Node, Transformed

ENDS = {
    "bypass": ["detached_inputs"],
    "detach": ["detached_inputs", "detached_outputs"],
    "detach_inputs": ["detached_inputs"],
    "detach_outputs": ["detached_outputs"],
}
"""What comes back beside the view."""


class Rewired(Transformed):
    """A case that has been run on a graph of its own; `report` is what it gave, in the corpus's
    words.
    """

    shapes: Mapping[str, Any] = MappingProxyType({})
    """The placeholders that represent inputs -> the static shapes of those."""

    def _tensors(self, asked: Asked) -> None:
        given = {
            key: (asked.ts if key.startswith("ts") else asked.ops)(names)
            for key, names in asked.args.items()
        }
        self.report["modifications"] = getattr(ge, self.case["kind"])(**given)

    def _two_views(self, asked: Asked) -> None:
        sgv0, sgv1 = asked.view("sgv0"), asked.view("sgv1")
        more = {key: value for key, value in asked.args.items() if key == "disconnect_first"}
        returned = getattr(ge, self.case["kind"])(sgv0, sgv1, **more)
        assert list(map(id, returned)) == [id(sgv0), id(sgv1)]
        self.report |= {"sgv0": described(sgv0), "sgv1": described(sgv1)}

    def _one_view(self, asked: Asked) -> None:
        view = asked.view()
        inputs = list(view.inputs)
        more = {key: value for key, value in asked.keywords().items() if key != "view"}
        returned = getattr(ge, self.case["kind"])(view, **more)
        if returned is None:
            return
        self.report["sgv"] = described(returned[0])
        for key, placeholders in zip(ENDS[self.case["kind"]], returned[1:], strict=True):
            given = names(placeholders)
            self.report[key] = sorted(given) if key == "detached_outputs" else given
            if key == "detached_inputs":
                self.shapes = dict(
                    zip((t.op.name for t in placeholders), (t.shape for t in inputs), strict=True)
                )

    def detach_control_outputs(self, asked: Asked) -> None:
        """Here the ControlOutputs have to be given."""
        ge.detach_control_outputs(asked.view(), ge.ControlOutputs(self.source))

    def _control(self, asked: Asked) -> None:
        op, cops = (
            self.source.get_operation_by_name(asked.args["target"]),
            asked.ops(asked.args["cops"]),
        )
        getattr(ge, self.case["kind"])(op, cops)

    swap_ts = reroute_ts = _tensors
    swap_inputs = swap_outputs = swap_ios = reroute_inputs = reroute_outputs = reroute_ios = (
        connect
    ) = _two_views
    detach = detach_inputs = detach_outputs = detach_control_inputs = bypass = _one_view
    add_control_inputs = remove_control_inputs = _control


def described(view: ge.SubGraphView) -> dict[str, list[str]]:
    """A view as the corpus writes views."""
    return {key: names(getattr(view, key)) for key in ("ops", "inputs", "outputs", "passthroughs")}


def wanted(done: Rewired) -> dict[str, Node]:
    """All ops of the graph after the case, by what was recorded, less the original's defects."""
    expected = done.case["expected"]
    nodes = copy.deepcopy(
        {node["name"]: node for node in [*expected["added"], *expected["changed"]]}
    )
    for bug in done.case.get("known_bugs", []):
        if bug["bug"] == "detach_outputs_misroutes_placeholders":
            report = bug["want"].split()  # "placeholder geph__t_0 derived from scope/t:0"
            right = f"{report[-1].rpartition('/')[0]}/{report[1]}:0"
            node = nodes[bug["node"]]
            node["inputs"] = [right if text == bug["got"] else text for text in node["inputs"]]
    for name, shape in done.shapes.items():
        # The placeholders of detach_inputs had no shape (PARITY 16).
        assert nodes[name]["attrs"]["shape"] == {"shape": None}
        nodes[name]["attrs"]["shape"] = {"shape": sizes(shape)}
    return done.before | nodes


def sizes(shape: tf.TensorShape) -> list[int] | None:
    """A static shape as the corpus writes shapes."""
    return None if shape.rank is None else [-1 if size is None else size for size in shape]
