"""The tree that is drawn: name scopes, layers and repeated blocks as groups. Read from a GraphIndex, no TensorFlow."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
