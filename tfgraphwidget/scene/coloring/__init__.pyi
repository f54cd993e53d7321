from . import encodings as encodings
from . import scales as scales
from .legend import Legend as Legend
from .palette import theme_on as theme_on
from .scales import Numbers as Numbers
from .scales import OpValues as OpValues
from .scales import color_items as color_items
from .scales import format_number as format_number
