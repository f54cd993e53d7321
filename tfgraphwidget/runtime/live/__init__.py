"""Changes of a live tf.Graph: import, edits in place, variables, control flow contexts, devices."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
