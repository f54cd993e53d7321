from .main_thread import run_on_main_thread as run_on_main_thread
from .notebook_variables import Namespace as Namespace
from .notebook_variables import graph_kind as graph_kind
from .notebook_variables import graphs_in as graphs_in
from .notebook_variables import user_namespace as user_namespace
from .widget import GraphWidget as GraphWidget
