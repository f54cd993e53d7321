"""Positions of boxes and routes of edges: a compound layered layout, container by container."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
