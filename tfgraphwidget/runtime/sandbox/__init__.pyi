from . import evaluation as evaluation
from .preflight import check_devices as check_devices
from .preflight import check_functions as check_functions
from .preflight import validate as validate
from .sandbox import Sandbox as Sandbox
from .sandbox import exact as exact
from .sandbox import placed_here as placed_here
