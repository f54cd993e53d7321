"""Layouts by other means than layers: positions of a caller, pinned boxes, overlap removal, polylines."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
