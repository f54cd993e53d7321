"""Clone: the ops to copy, their names, inputs, state and functions."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
