"""Copying and mixing the values of variables between models and checkpoints."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
