from . import matplotlib_axes as matplotlib_axes
from .svg_text import svg as svg
