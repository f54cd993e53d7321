"""Graph sources: live graphs, functions, models and files; each is opened as a Source with a Body to read.

Other packages import these names from here. A module is loaded when one of its names is first used, because most of
them load TensorFlow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfgraphwidget.lazy_front import lazy_front
from tfgraphwidget.sources import tf_protos

if TYPE_CHECKING:
    from tfgraphwidget.sources.describe.docs import Documentation, documentation
    from tfgraphwidget.sources.describe.ops import OpFacts, TensorFacts, attribute_text, describe_op
    from tfgraphwidget.sources.describe.origins import live_origin
    from tfgraphwidget.sources.describe.signatures import SignatureLine, body_signature, definition_signature
    from tfgraphwidget.sources.example import network
    from tfgraphwidget.sources.files.assets import asset_files, is_outside_assets
    from tfgraphwidget.sources.files.checkpoint import Checkpoint
    from tfgraphwidget.sources.files.checkpoint_keys import checkpoint_keys, variable_slice
    from tfgraphwidget.sources.files.container import Container
    from tfgraphwidget.sources.files.file_form import FileForm
    from tfgraphwidget.sources.files.formats import (
        OpenOptions,
        SourceFormat,
        describe_file,
        file_suffixes,
        find_checkpoint,
        listed_suffixes,
        locate_file,
        recognize,
        register_format,
        registered_formats,
        unregister_format,
    )
    from tfgraphwidget.sources.files.opening import open_message
    from tfgraphwidget.sources.files.summary import summarize_graph
    from tfgraphwidget.sources.functions.library import open_function
    from tfgraphwidget.sources.functions.state import captured_state
    from tfgraphwidget.sources.inference.bounds import Bounds
    from tfgraphwidget.sources.inference.call_depth import without_endless_calls
    from tfgraphwidget.sources.inference.dtypes import OpTypes, dtype_name
    from tfgraphwidget.sources.inference.shapes import shape_from_proto
    from tfgraphwidget.sources.live.devices import (
        absent_devices,
        available_devices,
        device_matches,
        is_soft_placement,
        parse_device,
        pinned_notice,
    )
    from tfgraphwidget.sources.live.graph_body import GraphBody, function_definition, runner_def
    from tfgraphwidget.sources.live.sessions import unwrap_session
    from tfgraphwidget.sources.opening import open_source, reopen_expression
    from tfgraphwidget.sources.paths import parse_path
    from tfgraphwidget.sources.source import Body, Signature, Source, StoredData
    from tfgraphwidget.sources.tf_errors import first_line, wrap_tf_errors
    from tfgraphwidget.sources.variables import variable_definition
else:
    __getattr__ = lazy_front(
        __name__,
        {
            "Documentation": "describe.docs",
            "documentation": "describe.docs",
            "OpFacts": "describe.ops",
            "TensorFacts": "describe.ops",
            "attribute_text": "describe.ops",
            "describe_op": "describe.ops",
            "live_origin": "describe.origins",
            "SignatureLine": "describe.signatures",
            "body_signature": "describe.signatures",
            "definition_signature": "describe.signatures",
            "network": "example",
            "asset_files": "files.assets",
            "is_outside_assets": "files.assets",
            "Checkpoint": "files.checkpoint",
            "checkpoint_keys": "files.checkpoint_keys",
            "variable_slice": "files.checkpoint_keys",
            "Container": "files.container",
            "FileForm": "files.file_form",
            "OpenOptions": "files.formats",
            "SourceFormat": "files.formats",
            "describe_file": "files.formats",
            "file_suffixes": "files.formats",
            "find_checkpoint": "files.formats",
            "listed_suffixes": "files.formats",
            "locate_file": "files.formats",
            "recognize": "files.formats",
            "register_format": "files.formats",
            "registered_formats": "files.formats",
            "unregister_format": "files.formats",
            "open_message": "files.opening",
            "summarize_graph": "files.summary",
            "open_function": "functions.library",
            "captured_state": "functions.state",
            "Bounds": "inference.bounds",
            "without_endless_calls": "inference.call_depth",
            "OpTypes": "inference.dtypes",
            "dtype_name": "inference.dtypes",
            "shape_from_proto": "inference.shapes",
            "absent_devices": "live.devices",
            "available_devices": "live.devices",
            "device_matches": "live.devices",
            "is_soft_placement": "live.devices",
            "parse_device": "live.devices",
            "pinned_notice": "live.devices",
            "GraphBody": "live.graph_body",
            "function_definition": "live.graph_body",
            "runner_def": "live.graph_body",
            "unwrap_session": "live.sessions",
            "open_source": "opening",
            "reopen_expression": "opening",
            "parse_path": "paths",
            "Body": "source",
            "Signature": "source",
            "Source": "source",
            "StoredData": "source",
            "first_line": "tf_errors",
            "wrap_tf_errors": "tf_errors",
            "variable_definition": "variables",
        },
    )

__all__ = [
    "Body",
    "Bounds",
    "Checkpoint",
    "Container",
    "Documentation",
    "FileForm",
    "GraphBody",
    "OpFacts",
    "OpTypes",
    "OpenOptions",
    "Signature",
    "SignatureLine",
    "Source",
    "SourceFormat",
    "StoredData",
    "TensorFacts",
    "absent_devices",
    "asset_files",
    "attribute_text",
    "available_devices",
    "body_signature",
    "captured_state",
    "checkpoint_keys",
    "definition_signature",
    "describe_file",
    "describe_op",
    "device_matches",
    "documentation",
    "dtype_name",
    "file_suffixes",
    "find_checkpoint",
    "first_line",
    "function_definition",
    "is_outside_assets",
    "is_soft_placement",
    "listed_suffixes",
    "live_origin",
    "locate_file",
    "network",
    "open_function",
    "open_message",
    "open_source",
    "parse_device",
    "parse_path",
    "pinned_notice",
    "recognize",
    "register_format",
    "registered_formats",
    "reopen_expression",
    "runner_def",
    "shape_from_proto",
    "summarize_graph",
    "tf_protos",
    "unregister_format",
    "unwrap_session",
    "variable_definition",
    "variable_slice",
    "without_endless_calls",
    "wrap_tf_errors",
]
