"""Edits that move edges (reroute, swap, connect, bypass), and their validation."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
