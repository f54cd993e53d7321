from . import matplotlib_axes as matplotlib_axes
from . import notebook_png as notebook_png
from . import picture_files as picture_files
from .svg_text import svg as svg
