"""Edits that change ops: insert, replace, remove, rename, attributes, input specs."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
