"""Which scopes, groups, ops, badges and bundled edges are drawn while some scopes are open and some ops hidden."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
