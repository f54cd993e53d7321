from . import checkpoints as checkpoints
from .sync import Model as Model
from .sync import Sync as Sync
from .variable_matching import Names as Names
from .variable_matching import match_variables as match_variables
