"""Positions of boxes and routes of edges: a compound layered layout, container by container."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
