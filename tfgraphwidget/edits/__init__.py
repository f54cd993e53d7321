"""Commands say what to change, as values; patches are what they come to.

Importing this package registers its commands (`edits.registry`).
"""

from tfgraphwidget.edits.clone.command import Add, Clone
from tfgraphwidget.edits.freeze.commands import Freeze, StripTraining
from tfgraphwidget.edits.freeze.fold_batch_norm import FoldBatchNorm
from tfgraphwidget.edits.rewire.bypass import Bypass, Detach
from tfgraphwidget.edits.rewire.reroute import AddControlInputs, Connect, RemoveControlInputs, Reroute, Swap
from tfgraphwidget.edits.rewrite.attributes import Place, SetAttr, SetConstant, Trainable
from tfgraphwidget.edits.rewrite.input_spec import ReplaceInput
from tfgraphwidget.edits.rewrite.insert import Insert
from tfgraphwidget.edits.rewrite.remove import Remove
from tfgraphwidget.edits.rewrite.rename import Rename, RenameKey
from tfgraphwidget.edits.rewrite.replace_subgraph import Replace

__all__ = [
    "Add",
    "AddControlInputs",
    "Bypass",
    "Clone",
    "Connect",
    "Detach",
    "FoldBatchNorm",
    "Freeze",
    "Insert",
    "Place",
    "Remove",
    "RemoveControlInputs",
    "Rename",
    "RenameKey",
    "Replace",
    "ReplaceInput",
    "Reroute",
    "SetAttr",
    "SetConstant",
    "StripTraining",
    "Swap",
    "Trainable",
]
