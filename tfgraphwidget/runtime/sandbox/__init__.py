"""Graphs and sessions of our own, in which ops are checked, shaped and run without touching the
user's.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
