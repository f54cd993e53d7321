"""Passes: commands on a whole graph, and on the functions that it calls."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
