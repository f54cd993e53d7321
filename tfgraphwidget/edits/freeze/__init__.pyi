from .commands import TRAINS as TRAINS
from .commands import Freeze as Freeze
from .commands import StripTraining as StripTraining
from .commands import results as results
from .fold_batch_norm import FoldBatchNorm as FoldBatchNorm
from .variables_to_constants import ConvertedGraph as ConvertedGraph
from .variables_to_constants import check_computed as check_computed
from .variables_to_constants import convert_variables as convert_variables
