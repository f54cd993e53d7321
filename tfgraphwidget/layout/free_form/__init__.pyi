from . import pinning as pinning
from .pinning import keys as keys
from .pinning import meant_key as meant_key
from .pinning import pinned_items as pinned_items
