"""The asset files of a SavedModel, such as vocabularies: their present paths, and the ops that fill
tables from them.

A SavedModel's graph names such a file by the path that it had where the model was made, or by
nothing: what loads the model feeds the path in its folder, once, while the tables are filled. A
copy of a table is filled later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tfgraphwidget.graph import TABLE, VALUE_SOURCES, kind_of
from tfgraphwidget.naming import split_input, split_tensor
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import AssetFileDef, MetaGraphDef, NodeDef

_INIT = "__saved_model_init_op"
_ASSETS = "saved_model_assets"
_MAIN_OPS = ("saved_model_main_op", "legacy_init_op")


def relocate_assets(meta: MetaGraphDef, folder: Path | None) -> MetaGraphDef:
    """Change a SavedModel's MetaGraphDef so that it names its asset files by their present paths in
    "assets".

    What represents a file is a constant then, and in the collection of such constants; what fills
    tables is in the collection of that. What comes without a folder, and what names a file outside
    of "assets", stays as it is.
    """
    if folder is None:
        return meta
    by_name = {node.name: node for node in meta.graph_def.node}
    tensors = []
    for asset in asset_files(meta):
        node = by_name.get(split_tensor(asset.tensor_info.name)[0])
        if (
            node is not None
            and node.op in VALUE_SOURCES
            and not is_outside_assets(folder, asset.filename)
        ):
            _make_constant(node, str(folder.absolute() / "assets" / asset.filename))
            tensors.append(asset.tensor_info.name)
    _add_to_collection(meta, tf_protos.ASSET_FILEPATHS, tensors)
    if tf_protos.TABLE_INITIALIZERS not in meta.collection_def:
        _add_to_collection(meta, tf_protos.TABLE_INITIALIZERS, _table_initializers(meta, by_name))
    return meta


def asset_files(meta: MetaGraphDef) -> list[AssetFileDef]:
    """The AssetFileDefs of a MetaGraphDef; TensorFlow 1 stores them in a collection."""
    if meta.asset_file_def or _ASSETS not in meta.collection_def:
        return list(meta.asset_file_def)
    assets = [tf_protos.AssetFileDef() for _ in meta.collection_def[_ASSETS].any_list.value]
    packed_assets = zip(assets, meta.collection_def[_ASSETS].any_list.value, strict=True)
    return [asset for asset, packed in packed_assets if packed.Unpack(asset)]


def is_outside_assets(folder: Path, filename: str) -> bool:
    """Whether the name of an asset leads out of a SavedModel's "assets": by "..", an absolute path
    or a link.

    >>> (
    ...     is_outside_assets(Path("model"), "words/en.txt"),
    ...     is_outside_assets(Path("model"), "../../etc/passwd"),
    ... )
    (False, True)
    """
    parts = filename.split("/")
    if (
        "\0" in filename
        or "\\" in filename
        or ".." in parts
        or not filename.strip("/")
        or Path(filename).is_absolute()
    ):
        return True
    try:
        assets = folder.resolve() / "assets"
        return assets not in (assets / filename).resolve().parents
    except (OSError, RuntimeError, ValueError):  # a link that leads to itself, half a character
        return True


def _make_constant(node: NodeDef, path: str) -> None:
    """Turn a NodeDef into a constant string."""
    node.op = "Const"
    for key in list(node.attr):
        if key not in ("_class", "_output_shapes"):
            del node.attr[key]
    node.attr["dtype"].type = tf_protos.STRING
    node.attr["value"].tensor.CopyFrom(tf_protos.string_tensor(path))


def loading_ops(meta: MetaGraphDef) -> list[str]:
    """The ops that a SavedModel runs when it is loaded."""
    init_op = meta.signature_def[_INIT].outputs[_INIT].name if _INIT in meta.signature_def else ""
    roots = [init_op, *(name for key in _MAIN_OPS for name in _collection_names(meta, key))]
    return [split_tensor(name)[0] for name in roots if name]


def _table_initializers(meta: MetaGraphDef, by_name: Mapping[str, NodeDef]) -> list[str]:
    """The ops that run at loading and have a hash table as input."""
    stack, visited, fillers = loading_ops(meta), set(), []
    while stack:
        name = stack.pop()
        node = by_name.get(name)
        if node is None or name in visited:
            continue
        visited.add(name)
        sources = [split_input(text) for text in node.input]
        if any(
            port >= 0 and op in by_name and kind_of(by_name[op].op) == TABLE for op, port in sources
        ):
            fillers.append(name)
        if node.op == "NoOp":
            stack += [op for op, _ in sources]
    return sorted(fillers)


def _collection_names(meta: MetaGraphDef, key: str) -> list[str]:
    return list(meta.collection_def[key].node_list.value) if key in meta.collection_def else []


def _add_to_collection(meta: MetaGraphDef, key: str, names: Iterable[str]) -> None:
    """Add the names that a collection does not have."""
    new = [name for name in dict.fromkeys(names) if name not in _collection_names(meta, key)]
    if new:
        meta.collection_def[key].node_list.value.extend(new)
