"""Which scopes, groups, ops, badges and bundled edges are drawn while some scopes are open and some
ops hidden.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
