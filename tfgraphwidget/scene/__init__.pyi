from . import scene as scene
from .layout_prefetch import candidates as candidates
from .layout_prefetch import prefetch as prefetch
from .opening import first_drawing as first_drawing
from .opening import zoom_in as zoom_in
from .scene import EFFECTS as EFFECTS
from .scene import Paint as Paint
from .scene import Scene as Scene
