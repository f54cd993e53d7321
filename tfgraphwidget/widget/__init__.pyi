from .exporter import Exporter as Exporter
from .exporter import FileExists as FileExists
from .main_thread import run_on_main_thread as run_on_main_thread
from .save_formats import SaveFormat as SaveFormat
from .save_formats import find_save_format as find_save_format
from .save_formats import is_saved_model as is_saved_model
from .save_formats import output_stem as output_stem
from .widget import GraphWidget as GraphWidget
