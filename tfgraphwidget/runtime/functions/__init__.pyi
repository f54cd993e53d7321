from . import body_graph as body_graph
from . import edited_function as edited_function
from . import module_clone as module_clone
from . import new_variables as new_variables
from .module_copy import ModuleCopy as ModuleCopy
from .module_state import present_values as present_values
