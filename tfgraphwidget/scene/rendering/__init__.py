"""A scene as SVG, with matplotlib, or as a list of shapes in painting order."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
