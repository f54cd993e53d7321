"""State of sessions: values of variables, renewal, transfer of state to another session."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
