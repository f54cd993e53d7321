"""The editor: a graph, what is selected and shown of it, and the edits that were made. Complete
without a browser.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
