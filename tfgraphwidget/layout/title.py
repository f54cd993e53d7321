"""The title of an open scope: lines that come in from above cross its border beside the text, and
turn below it.

Where the layers are drawn in one column, `layered.routing` has moved the lines already.
"""

from __future__ import annotations

from tfgraphwidget.layout.geometry import MutableLayout
from tfgraphwidget.layout.layered.components import BORDER, Structure
from tfgraphwidget.layout.layered.routing import HyperedgeSpan, assign_tracks
from tfgraphwidget.layout.spacing import PORT_GAP, TRACK, places_beside

# From the header to the first track, and from the last track to what was below the header.
_ABOVE, _BELOW = 3.0, 9.0


def clear_title(layout: MutableLayout, structure: Structure, title: float) -> None:
    """Move the ports below a title to its right.

    Args:
        layout: The layout of a container, which is changed: it becomes taller by the tracks on
            which the lines run back to where they came in, and as wide as the ports need.
        structure: Its structure.
        title: How far the title reaches from the left, in pixels.
    """
    if not any(x < title for x in layout.enter):
        return
    old, places = layout.enter, places_beside(layout.enter, title)
    spans = {port: HyperedgeSpan((x,), (old[port],)) for port, x in places.items() if x > old[port]}
    track = dict(zip(spans, assign_tracks([*spans.values()]), strict=True))
    height = {port: _ABOVE + TRACK * number for port, number in track.items() if number >= 0}
    down = max(height.values(), default=-_BELOW) + _BELOW
    layout.width = max(layout.width, max(places.values()) + PORT_GAP / 2)
    layout.height += down
    layout.top = [y + down for y in layout.top]
    layout.enter = tuple(places.get(port, x) for port, x in enumerate(old))
    layout.routes = [[(x, y + down) for x, y in route] for route in layout.routes]
    for edge, route in zip(structure.edges, layout.routes, strict=True):
        if edge.source == BORDER and route:
            port = max(edge.source_port, 0)
            turn = [(x, height[port]) for x in (places[port], old[port])] if port in height else []
            route[:1] = [(places[port], 0.0), *turn]
