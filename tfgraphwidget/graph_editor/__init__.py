"""TensorFlow 1.x's `tf.contrib.graph_editor`, on today's TensorFlow.

An old script changes one line, its import:

    import tfgraphwidget.graph_editor as ge

Submodules, names, arguments and meanings are those of TensorFlow 1.15's; arguments and results are
live `tf.Operation` and `tf.Tensor` objects. Where the original was wrong, this is right: each
docstring says so.

A `tf.Session` goes on running what it has run once as it was, and says nothing of it: edit before
the first run, or make a new session, or give it to `tfgraphwidget.renew(session)`, which keeps the
values of its variables. An edit by `tfgraphwidget.edit(graph, session=session)` does that by
itself.
"""

from types import FunctionType

from tfgraphwidget.argument_checks import check_arguments
from tfgraphwidget.graph_editor import (
    edit,
    elsewhere,
    match,
    reroute,
    select,
    subgraph,
    transform,
    util,
)
from tfgraphwidget.graph_editor.edit import (
    bypass,
    connect,
    detach,
    detach_control_inputs,
    detach_control_outputs,
    detach_inputs,
    detach_outputs,
)
from tfgraphwidget.graph_editor.elsewhere import copy_to_graph, copy_variable_to_graph, get_copied
from tfgraphwidget.graph_editor.match import OpMatcher, match_pattern, matcher, op_type
from tfgraphwidget.graph_editor.reroute import (
    add_control_inputs,
    remove_control_inputs,
    reroute_inputs,
    reroute_ios,
    reroute_outputs,
    reroute_ts,
    swap_inputs,
    swap_ios,
    swap_outputs,
    swap_ts,
)
from tfgraphwidget.graph_editor.select import (
    can_be_regex,
    check_cios,
    compute_boundary_ts,
    filter_ops,
    filter_ops_from_regex,
    filter_ts,
    filter_ts_from_regex,
    get_backward_walk_ops,
    get_forward_walk_ops,
    get_name_scope_ops,
    get_ops_ios,
    get_walks_intersection_ops,
    get_walks_union_ops,
    get_within_boundary_ops,
    make_regex,
    select_ops,
    select_ops_and_ts,
    select_ts,
)
from tfgraphwidget.graph_editor.subgraph import SubGraphView, make_view, make_view_from_scope
from tfgraphwidget.graph_editor.transform import (
    Transformer,
    TransformerInfo,
    assign_renamed_collections_handler,
    copy,
    copy_op_handler,
    copy_with_input_replacements,
    graph_replace,
    keep_t_if_possible_handler,
    replace_t_with_placeholder_handler,
    transform_op_if_inside_handler,
    transform_op_in_place,
)
from tfgraphwidget.graph_editor.util import (
    ControlOutputs,
    get_consuming_ops,
    get_generating_ops,
    get_tensors,
    make_list_of_op,
    make_list_of_t,
    make_placeholder_from_dtype_and_shape,
    make_placeholder_from_tensor,
    placeholder_name,
)

_PUBLIC = (edit, elsewhere, match, reroute, select, subgraph, transform, util)
_CHECKED: dict[object, object] = {}  # one for each function, in whichever modules it is
for _module in _PUBLIC:
    for _name, _function in list(vars(_module).items()):
        # Handlers stay who they are: a Transformer looks which one it has.
        if (
            isinstance(_function, FunctionType)
            and _name[0] != "_"
            and not _name.endswith("_handler")
        ):
            if _function not in _CHECKED:
                _CHECKED[_function] = check_arguments(_function, TypeError)
            setattr(_module, _name, _CHECKED[_function])
            if globals().get(_name) is _function:
                globals()[_name] = _CHECKED[_function]

ph = make_placeholder_from_dtype_and_shape
sgv = make_view
sgv_scope = make_view_from_scope

__all__ = [
    "ControlOutputs",
    "OpMatcher",
    "SubGraphView",
    "Transformer",
    "TransformerInfo",
    "add_control_inputs",
    "assign_renamed_collections_handler",
    "bypass",
    "can_be_regex",
    "check_cios",
    "compute_boundary_ts",
    "connect",
    "copy",
    "copy_op_handler",
    "copy_to_graph",
    "copy_variable_to_graph",
    "copy_with_input_replacements",
    "detach",
    "detach_control_inputs",
    "detach_control_outputs",
    "detach_inputs",
    "detach_outputs",
    "edit",
    "elsewhere",
    "filter_ops",
    "filter_ops_from_regex",
    "filter_ts",
    "filter_ts_from_regex",
    "get_backward_walk_ops",
    "get_consuming_ops",
    "get_copied",
    "get_forward_walk_ops",
    "get_generating_ops",
    "get_name_scope_ops",
    "get_ops_ios",
    "get_tensors",
    "get_walks_intersection_ops",
    "get_walks_union_ops",
    "get_within_boundary_ops",
    "graph_replace",
    "keep_t_if_possible_handler",
    "make_list_of_op",
    "make_list_of_t",
    "make_placeholder_from_dtype_and_shape",
    "make_placeholder_from_tensor",
    "make_regex",
    "make_view",
    "make_view_from_scope",
    "match",
    "match_pattern",
    "matcher",
    "op_type",
    "ph",
    "placeholder_name",
    "remove_control_inputs",
    "replace_t_with_placeholder_handler",
    "reroute",
    "reroute_inputs",
    "reroute_ios",
    "reroute_outputs",
    "reroute_ts",
    "select",
    "select_ops",
    "select_ops_and_ts",
    "select_ts",
    "sgv",
    "sgv_scope",
    "subgraph",
    "swap_inputs",
    "swap_ios",
    "swap_outputs",
    "swap_ts",
    "transform",
    "transform_op_if_inside_handler",
    "transform_op_in_place",
    "util",
]
