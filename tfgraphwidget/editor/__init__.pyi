from . import synchronization as synchronization
from .evaluation import original_name as original_name
from .file_page import save_page_of as save_page_of
from .file_watch import watch_file as watch_file
from .graph_editor import GraphEditor as GraphEditor
from .navigator import opened_navigator as opened_navigator
from .state import EditorSnapshot as EditorSnapshot
from .synchronization import sync as sync
