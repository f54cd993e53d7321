"""Patterns of ops: written as text or built in Python, found in a graph, without TensorFlow."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
