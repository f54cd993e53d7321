"""The editor: a graph, what is selected and shown of it, and the edits that were made. Complete without a browser."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
