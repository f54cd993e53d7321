"""Graph sources: live graphs, functions, models and files; each is opened as a Source with a Body
to read.

Other packages import these names from here. A module is loaded when one of its names is first used,
because most of them load TensorFlow.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
