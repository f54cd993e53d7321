from .kernel_namespace import user_namespace as user_namespace
from .main_thread import run_on_main_thread as run_on_main_thread
from .widget import GraphWidget as GraphWidget
