"""The scene: everything the renderer needs, as named typed arrays; its colors and its pictures."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
