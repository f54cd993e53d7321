from .planning import SourceContext as SourceContext
from .planning import plan as plan
