from .main_thread import run_on_main_thread as run_on_main_thread
from .widget import GraphWidget as GraphWidget
