"""Edits as values: a command plans a patch.

The names of this front are the commands that `edits.registry` knows by their names, and what
commands are made of.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
