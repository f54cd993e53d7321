from . import evaluation as evaluation
from .preflight import CONSTRUCTION_CONTEXT as CONSTRUCTION_CONTEXT
from .preflight import check_devices as check_devices
from .preflight import check_functions as check_functions
from .preflight import validate as validate
from .sandbox import Sandbox as Sandbox
from .sandbox import exact_config as exact_config
from .sandbox import without_remote_device as without_remote_device
