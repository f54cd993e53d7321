"""Layouts by other means than layers: positions of a caller, pinned boxes, overlap removal,
polylines.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
