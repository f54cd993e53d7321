"""The scene: everything the renderer needs, as named typed arrays; its colors and its pictures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
