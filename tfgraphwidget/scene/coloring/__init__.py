"""Colors: the palette, the scales of values, and the encodings of what is known of ops."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
