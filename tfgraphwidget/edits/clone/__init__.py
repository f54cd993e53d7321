"""Clone: which ops are copied, under which names, reading what, with which state and functions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
