"""What tensors are in a run, how long ops take, how much memory and how many FLOPs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
