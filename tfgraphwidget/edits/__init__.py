"""Commands say what to change, as values; patches are what they come to.

Importing this package registers its commands (`edits.registry`).
"""

from tfgraphwidget.edits import registry
from tfgraphwidget.edits.clone.command import Add, Clone
from tfgraphwidget.edits.command import Command, Edits, Renew, rebind_selections
from tfgraphwidget.edits.context import Array, IndexContext, Options, PlanContext, TracedFunction
from tfgraphwidget.edits.control_flow_contexts import rename_contexts
from tfgraphwidget.edits.entrance import Entrance
from tfgraphwidget.edits.freeze.commands import Freeze, StripTraining
from tfgraphwidget.edits.freeze.fold_batch_norm import FoldBatchNorm
from tfgraphwidget.edits.history import History, Step
from tfgraphwidget.edits.op_replacement import exchanged
from tfgraphwidget.edits.patch import (
    Change,
    Edited,
    NewShape,
    Patch,
    Preview,
    State,
    check_unchanged,
    patched,
    reading,
    reserved,
    shown,
)
from tfgraphwidget.edits.patched_graph import After, Rank, Tensor, const_shape, is_small, joined
from tfgraphwidget.edits.queue_runners import rename_runners
from tfgraphwidget.edits.registry import EditButton, FormField, register
from tfgraphwidget.edits.rewire.bypass import Bypass, Detach
from tfgraphwidget.edits.rewire.reroute import AddControlInputs, Connect, RemoveControlInputs, Reroute, Swap
from tfgraphwidget.edits.rewrite.attributes import Place, SetAttr, SetConstant, Trainable
from tfgraphwidget.edits.rewrite.input_spec import ReplaceInput
from tfgraphwidget.edits.rewrite.insert import Insert
from tfgraphwidget.edits.rewrite.remove import Remove
from tfgraphwidget.edits.rewrite.rename import Rename, RenameKey
from tfgraphwidget.edits.rewrite.replace_subgraph import Replace
from tfgraphwidget.edits.signature_tracking import Ends, check_called, ends_now, follow, renamed_keys

__all__ = [
    "Add",
    "AddControlInputs",
    "After",
    "Array",
    "Bypass",
    "Change",
    "Clone",
    "Command",
    "Connect",
    "Detach",
    "EditButton",
    "Edited",
    "Edits",
    "Ends",
    "Entrance",
    "FoldBatchNorm",
    "FormField",
    "Freeze",
    "History",
    "IndexContext",
    "Insert",
    "NewShape",
    "Options",
    "Patch",
    "Place",
    "PlanContext",
    "Preview",
    "Rank",
    "Remove",
    "RemoveControlInputs",
    "Rename",
    "RenameKey",
    "Renew",
    "Replace",
    "ReplaceInput",
    "Reroute",
    "SetAttr",
    "SetConstant",
    "State",
    "Step",
    "StripTraining",
    "Swap",
    "Tensor",
    "TracedFunction",
    "Trainable",
    "check_called",
    "check_unchanged",
    "const_shape",
    "ends_now",
    "exchanged",
    "follow",
    "is_small",
    "joined",
    "patched",
    "reading",
    "rebind_selections",
    "register",
    "registry",
    "rename_contexts",
    "rename_runners",
    "renamed_keys",
    "reserved",
    "shown",
]
