from .called_function import CalledFunction as CalledFunction
from .called_function import change_of as change_of
from .file_graph import FileGraph as FileGraph
from .live_graph import LiveGraph as LiveGraph
from .opened_graph import OpenedGraph as OpenedGraph
