"""Values of tensors, and time, memory and FLOPs of ops."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
