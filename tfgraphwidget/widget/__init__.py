"""The editor in the browser: an ipywidgets widget that answers the requests of a page."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
