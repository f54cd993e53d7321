"""Changes of a live tf.Graph: import, edits in place, variables, control flow contexts, devices."""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
