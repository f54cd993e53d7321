"""Edits as values: a command plans a patch.

The names of this front are the commands that `edits.registry` knows by their verbs, and what commands are made of.
"""

from tfgraphwidget import fronts

__getattr__, __dir__, __all__ = fronts.attach_stub(__name__, __file__)
