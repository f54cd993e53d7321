"""Patterns of ops: written as text or built in Python, found in a graph, without TensorFlow."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
