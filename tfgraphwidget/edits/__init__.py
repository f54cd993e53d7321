"""Edits as values: a command plans a patch.

Importing this package registers its commands (`edits.registry`).
"""

from tfgraphwidget.edits import registry
from tfgraphwidget.edits.clone.command import Add, Clone
from tfgraphwidget.edits.command import (
    Command,
    Edits,
    Renew,
    rebind_selections,
    rename_operands,
    rename_tensor,
    subject_text,
)
from tfgraphwidget.edits.context import Array, IndexContext, Options, PlanContext, TracedFunction
from tfgraphwidget.edits.control_flow_contexts import rename_contexts
from tfgraphwidget.edits.entrance import Entrance
from tfgraphwidget.edits.freeze.commands import Freeze, StripTraining
from tfgraphwidget.edits.freeze.fold_batch_norm import FoldBatchNorm
from tfgraphwidget.edits.history import History, Step
from tfgraphwidget.edits.op_replacement import replace_fixed_ops
from tfgraphwidget.edits.passes.batch_size import ChangeBatchSize
from tfgraphwidget.edits.passes.casts import Cast
from tfgraphwidget.edits.passes.devices import RemoveDevices
from tfgraphwidget.edits.passes.duplicates import MergeDuplicates
from tfgraphwidget.edits.passes.execution_order import Sort
from tfgraphwidget.edits.passes.fold_constants import FoldConstants
from tfgraphwidget.edits.passes.identities import RemoveIdentities
from tfgraphwidget.edits.passes.obfuscate_names import ObfuscateNames
from tfgraphwidget.edits.passes.op_types import RenameType
from tfgraphwidget.edits.passes.weights import QuantizeWeights, RoundWeights
from tfgraphwidget.edits.patch import (
    Change,
    FunctionBoundary,
    NewShape,
    NodeChange,
    Patch,
    Preview,
    State,
    apply_patch,
    check_unchanged,
    dependents_of,
    reserved_names,
    without_hidden,
)
from tfgraphwidget.edits.patched_graph import PatchedGraph, Rank, Tensor, const_shape, is_small, merge_shapes
from tfgraphwidget.edits.queue_runners import rename_runners
from tfgraphwidget.edits.registry import EditButton, FormField, register
from tfgraphwidget.edits.rewire.bypass import Bypass, Detach
from tfgraphwidget.edits.rewire.reroute import AddControlInputs, Connect, RemoveControlInputs, Reroute, Swap
from tfgraphwidget.edits.rewrite.attributes import Place, SetAttr, SetConstant, Trainable
from tfgraphwidget.edits.rewrite.input_spec import ReplaceInput
from tfgraphwidget.edits.rewrite.insert import Insert
from tfgraphwidget.edits.rewrite.remove import Remove
from tfgraphwidget.edits.rewrite.rename import Rename
from tfgraphwidget.edits.rewrite.replace_all import ReplaceAll
from tfgraphwidget.edits.rewrite.replace_subgraph import Replace
from tfgraphwidget.edits.signature_commands import (
    AddSignature,
    OrderSignature,
    RemoveSignature,
    RenameKey,
    RenameSignature,
)
from tfgraphwidget.edits.signature_edits import NewSignature
from tfgraphwidget.edits.signature_tracking import (
    check_called,
    follow,
    track_boundary,
    track_signatures,
)

__all__ = [
    "Add",
    "AddControlInputs",
    "AddSignature",
    "Array",
    "Bypass",
    "Cast",
    "Change",
    "ChangeBatchSize",
    "Clone",
    "Command",
    "Connect",
    "Detach",
    "EditButton",
    "Edits",
    "Entrance",
    "FoldBatchNorm",
    "FoldConstants",
    "FormField",
    "Freeze",
    "FunctionBoundary",
    "History",
    "IndexContext",
    "Insert",
    "MergeDuplicates",
    "NewShape",
    "NewSignature",
    "NodeChange",
    "ObfuscateNames",
    "Options",
    "OrderSignature",
    "Patch",
    "PatchedGraph",
    "Place",
    "PlanContext",
    "Preview",
    "QuantizeWeights",
    "Rank",
    "Remove",
    "RemoveControlInputs",
    "RemoveDevices",
    "RemoveIdentities",
    "RemoveSignature",
    "Rename",
    "RenameKey",
    "RenameSignature",
    "RenameType",
    "Renew",
    "Replace",
    "ReplaceAll",
    "ReplaceInput",
    "Reroute",
    "RoundWeights",
    "SetAttr",
    "SetConstant",
    "Sort",
    "State",
    "Step",
    "StripTraining",
    "Swap",
    "Tensor",
    "TracedFunction",
    "Trainable",
    "apply_patch",
    "check_called",
    "check_unchanged",
    "const_shape",
    "dependents_of",
    "follow",
    "is_small",
    "merge_shapes",
    "rebind_selections",
    "register",
    "registry",
    "rename_contexts",
    "rename_operands",
    "rename_runners",
    "rename_tensor",
    "replace_fixed_ops",
    "reserved_names",
    "subject_text",
    "track_boundary",
    "track_signatures",
    "without_hidden",
]
