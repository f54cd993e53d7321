"""The editor in the browser: an ipywidgets widget that answers the requests of a page."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
