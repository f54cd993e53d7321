from . import matplotlib_axes as matplotlib_axes
from . import picture_files as picture_files
from .svg_text import svg as svg
