"""The tree that is drawn: name scopes, layers and repeated blocks as groups. Read from a
GraphIndex, no TensorFlow.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
