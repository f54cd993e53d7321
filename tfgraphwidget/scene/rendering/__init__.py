"""A scene as SVG, with matplotlib, or as a list of shapes in painting order."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
