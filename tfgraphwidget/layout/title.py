"""The title of an open scope.

Edges that come in from above cross the scope's border beside the text, and turn below it. Where the
layers are drawn in one column, `layered.routing` has moved the edges already.
"""

from __future__ import annotations

from tfgraphwidget.layout.geometry import MutableLayout
from tfgraphwidget.layout.layered.components import BORDER, Structure
from tfgraphwidget.layout.layered.routing import HyperedgeSpan, assign_tracks
from tfgraphwidget.layout.spacing import PORT_GAP, TRACK, places_beside

ABOVE_TRACKS = 3.0  # pixels from the header to the first track
BELOW_TRACKS = 9.0  # pixels from the last track to what was below the header


def clear_title(layout: MutableLayout, structure: Structure, title: float) -> None:
    """Move the ports below a title to its right.

    Args:
        layout: The layout of a container, which is changed: it becomes taller by the tracks on
            which the lines run back to where they came in, and as wide as the ports need.
        title: How far the title reaches from the left, in pixels.
    """
    if not any(x < title for x in layout.enter):
        return
    old = layout.enter
    places = places_beside(old, title)
    moved = [port for port, x in places.items() if x > old[port]]
    tracks = assign_tracks([HyperedgeSpan((places[port],), (old[port],)) for port in moved])
    height = {
        port: ABOVE_TRACKS + TRACK * track
        for port, track in zip(moved, tracks, strict=True)
        if track >= 0
    }
    down = max(height.values()) + BELOW_TRACKS if height else 0.0
    layout.width = max(layout.width, max(places.values()) + PORT_GAP / 2)
    layout.height += down
    layout.top = [y + down for y in layout.top]
    layout.enter = tuple(places.get(port, x) for port, x in enumerate(old))
    layout.routes = [[(x, y + down) for x, y in route] for route in layout.routes]
    for edge, route in zip(structure.edges, layout.routes, strict=True):
        if edge.source == BORDER and route:
            port = max(edge.source_port, 0)
            start = [(places[port], 0.0)]
            if port in height:
                start += [(places[port], height[port]), (old[port], height[port])]
            route[:1] = start
