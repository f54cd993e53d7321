"""The panel's buttons for edits, and the fields of all its forms.

A form asks for arguments of the editor's method, or for the fields of a request. What a field
takes, whether it may be left empty and what it holds at first follow from the method and the kinds
of the command's operands, or from the request.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from tfgraphwidget.edits import Command, call_signature, hints_of, operands_of, registry
from tfgraphwidget.graph import CONSTANTS, HANDLES, HANDS_ON, PLACEHOLDERS, WITHOUT_OUTPUTS
from tfgraphwidget.widget.protocol import requests as p

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


FieldKind = Literal[
    "text",
    "python",
    "count",
    "switch",
    "choice",
    "file",
    "tensor",
    "op_type",
    "replacement",
    "graph",
    "model",
    "signature",
    "keys",
    "states",
]
"""What a field takes: text; a Python literal; a whole number; True or False; one of its words; the
path of a file; the name of a tensor, which is completed, or clicked; an op type or a function of
the notebook, whose parameters and scope are asked for too; what replaces the matches of a pattern:
such a type, or a text; a graph: a variable of the notebook, or the path of a file; a model: such a
graph, whose scope and inputs are asked for too; one of the graph's signatures; the keys of a
signature's inputs or outputs, which can be moved and renamed; or, of the part that is cloned, the
variables and other state for which the opposite of the choice before it holds.
"""


@dataclass(frozen=True)
class FormField:
    """One argument that a form asks for.

    Attributes:
        key: The parameter of the editor's method, or the field of the request.
        label: What the form calls it.
        initial: What the field holds at first.
        known: What of the inspected op or scope the field holds at first; None for `initial`.
        kind: What it takes.
        words: Texts to choose from, or to propose; of a file its ending.
        texts: What the form calls those; () for the words themselves.
        optional: Whether the field may be left empty.
        only_for: The words of the choice before it for which it is there; () for all.
        folded: Whether it is less common, below "More options".
        hint: A sentence below the field.
    """

    key: str
    label: str
    initial: str = ""
    known: Literal["name", "device", "shape", "dtype", "value"] | None = None
    kind: FieldKind = "text"
    words: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    optional: bool = False
    only_for: tuple[str, ...] = ()
    folded: bool = False
    hint: str = ""


@dataclass(frozen=True)
class EditButton:
    """A button of the panel that asks for an edit, and the form that it opens.

    Attributes:
        name: What it says.
        title: What its tooltip says.
        on: What it edits: "part" is an op, a scope or the selection, "named" an op or a scope, "op"
            an op, "graph" the whole graph.
        order: Its place among the buttons.
        types: The op types that it is shown for; () for all.
        needs: What an op must have so that it is shown.
        output: Whether it edits the first output of an op, rather than the op.
        fields: What its form asks for; () for a button that edits at once.
        options: Arguments that no field asks for, or that represent an empty one: pairs of a
            parameter and a literal.
        group: The heading that it is below, among the buttons of the whole graph; "" for those that
            come first.
        keywords: Other names of what it does, by which it is found too.
    """

    name: str
    title: str
    on: Literal["part", "named", "op", "graph"]
    order: int
    types: tuple[str, ...] = ()
    needs: tuple[Literal["inputs", "outputs"], ...] = ()
    output: bool = False
    fields: tuple[FormField, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    group: str = ""
    keywords: str = ""


_INSERTED = (
    "Identity",
    "StopGradient",
    "Cast",
    "Reshape",
    "Transpose",
    "CheckNumerics",
    "Print",
    "Relu",
)
_ALSO = ", ".join(sorted((HANDS_ON | WITHOUT_OUTPUTS | {"CheckNumerics"}) - {"Identity"}))
_REPLACING = (
    "Relu",
    "Elu",
    "Selu",
    "Relu6",
    "LeakyRelu",
    "Sigmoid",
    "Tanh",
    "Softplus",
    "Softmax",
    "Identity",
)
_DEVICES = ("/device:CPU:0", "/device:GPU:0")

BUTTONS: Mapping[str, EditButton] = {
    "add_control_inputs": EditButton(
        "Add control dependency",
        "Have this op run after another one",
        on="op",
        order=90,
        fields=(FormField("ops", "Op"),),
    ),
    "add_signature": EditButton(
        "Add signature",
        "Let a saved model be called by the marked inputs and outputs",
        on="graph",
        order=500,
        group="Signatures",
        keywords="signature_def serving_default",
        fields=(
            FormField("name", "Name", "serving_default", hint="Of the marked inputs and outputs"),
        ),
    ),
    "remove_signature": EditButton(
        "Remove signature",
        "A saved model has it no more; its ops stay",
        on="graph",
        order=520,
        group="Signatures",
        keywords="signature_def",
        fields=(FormField("name", "Signature"),),
    ),
    "rename_signature": EditButton(
        "Rename signature",
        "Change the name by which a saved model is called",
        on="graph",
        order=510,
        group="Signatures",
        keywords="signature_def",
        fields=(FormField("name", "Signature"), FormField("new", "New name")),
    ),
    "order_signature": EditButton(
        "Order signature",
        "Change the order in which a module or function takes the inputs and gives the outputs, "
        "and their keys",
        on="graph",
        order=515,
        group="Signatures",
        keywords="signature_def arguments keys inputs outputs",
        fields=(
            FormField("name", "Signature"),
            FormField("inputs", "Inputs"),
            FormField("outputs", "Outputs"),
        ),
    ),
    "bypass": EditButton(
        "Bypass",
        "Connect the consumers directly to the inputs",
        on="part",
        order=10,
        needs=("inputs", "outputs"),
        options=(("gradients", "True"),),
    ),
    "detach": EditButton(
        "Detach",
        "Cut all incoming and outgoing edges; placeholders replace the inputs",
        on="part",
        order=30,
    ),
    "cast": EditButton(
        "Cast",
        "Compute in half precision, with weights of half the size",
        on="graph",
        order=300,
        group="Make smaller",
        keywords="float16 bfloat16 half mixed precision",
        fields=(
            FormField("dtype", "Dtype"),
            FormField("keep", "Keep in float32", hint="A list of ops, scopes or op types."),
        ),
    ),
    "change_batch_size": EditButton(
        "Batch size",
        "Change the first dimension of all inputs",
        on="graph",
        order=120,
        keywords="change batch size input shape placeholder dynamic",
        fields=(FormField("size", "Batch size", initial="None", hint="None for any."),),
    ),
    "fold_batch_norm": EditButton(
        "Fold batch norm",
        "Fold batch normalization into the preceding weights",
        on="graph",
        order=205,
        group="Clean up",
        keywords="fold_batch_norms fuse normalization",
    ),
    "fold_constants": EditButton(
        "Fold constants",
        "Compute what depends on constants alone",
        on="graph",
        order=200,
        group="Clean up",
        keywords="constant folding propagation",
        fields=(
            FormField(
                "limit",
                "Largest result",
                hint="In bytes; a larger result is stored only if it is smaller than what it is "
                "computed from.",
            ),
        ),
    ),
    "freeze": EditButton(
        "Freeze",
        "Convert variables to constants and keep only what the outputs need",
        on="graph",
        order=100,
        keywords="variables to constants convert_variables_to_constants",
        fields=(
            FormField(
                "outputs",
                "Outputs",
                hint="Such as ['logits', 'scores:0']; if empty, those that are marked, those of "
                "the signatures, or what no op reads.",
            ),
            FormField(
                "updates",
                "Updates",
                hint="Of variables that the outputs update, such as counters: refuse them, keep "
                "them variables, or drop the updates.",
            ),
            FormField(
                "inline", "Inline", hint="The ops of functions in place of calls: one graph."
            ),
            FormField(
                "lower_control_flow",
                "Lower",
                hint="Switch and Merge of TensorFlow 1 in place of loops and conditionals of "
                "TensorFlow 2.",
            ),
        ),
    ),
    "strip_training": EditButton(
        "Strip training",
        "Remove gradients, optimizers, savers and summaries",
        on="graph",
        order=110,
        keywords="strip_unused_nodes prune dead code elimination extract_sub_graph",
    ),
    "insert": EditButton(
        "Insert after",
        "Insert an op between this op and its consumers",
        on="op",
        order=60,
        needs=("outputs",),
        output=True,
        fields=(FormField("function", "Op type", "Identity", words=_INSERTED),),
    ),
    "merge_duplicates": EditButton(
        "Merge duplicates",
        "Keep one of ops that compute the same",
        on="graph",
        order=210,
        group="Clean up",
        keywords="merge_duplicate_nodes common subexpression elimination cse deduplicate",
    ),
    "obfuscate_names": EditButton(
        "Obfuscate names",
        "Rename all ops and scopes, for bug reports",
        on="graph",
        order=420,
        group="Replace and rename",
        keywords="obfuscate_names anonymize hide bug report",
        fields=(FormField("contents", "Contents too"),),
    ),
    "set_device": EditButton(
        "Device",
        "Set the device",
        on="part",
        order=40,
        options=(("device", "None"),),  # where the field is empty
        fields=(
            FormField(
                "device",
                "Device",
                known="device",
                words=_DEVICES,
                hint="If empty, TensorFlow chooses.",
            ),
        ),
    ),
    "set_constant": EditButton(
        "Set constant",
        "Change the value; a placeholder becomes a constant",
        on="op",
        order=80,
        types=tuple(sorted(CONSTANTS | PLACEHOLDERS)),
        output=True,
        fields=(FormField("value", "Value", known="value"),),
    ),
    "set_trainable": EditButton(
        "Train only this",
        "Make the variables in it the only trainable ones",
        "part",
        order=85,
        types=tuple(sorted(HANDLES)),
    ),
    "round_weights": EditButton(
        "Round weights",
        "Round weights to few values, so that the file compresses",
        on="graph",
        order=310,
        group="Make smaller",
        keywords="round_weights compress",
        fields=(
            FormField("bits", "Bits"),
            FormField("minimum", "Smallest weight", hint="In elements."),
        ),
    ),
    "quantize_weights": EditButton(
        "Quantize weights",
        "Store weights as int8, with a scale and a zero point",
        on="graph",
        order=320,
        group="Make smaller",
        keywords="quantize_weights int8",
        fields=(FormField("minimum", "Smallest weight", hint="In elements."),),
    ),
    "remove": EditButton(
        "Remove", "Remove these ops and the ops that only they use (Delete)", on="part", order=20
    ),
    "remove_devices": EditButton(
        "Remove devices",
        "Let TensorFlow place all ops",
        on="graph",
        order=230,
        group="Clean up",
        keywords="remove_device placement gpu cpu",
    ),
    "remove_identities": EditButton(
        "Remove identities",
        "Let the consumers of each Identity read its input",
        on="graph",
        order=220,
        group="Clean up",
        keywords="remove_nodes Identity CheckNumerics StopGradient NoOp Assert dependency "
        "optimization",
        fields=(FormField("also", "Also", hint=f"A list of other op types: {_ALSO}"),),
    ),
    "rename": EditButton(
        "Rename",
        "Change the name",
        on="named",
        order=50,
        fields=(FormField("new", "Name", known="name"),),
    ),
    "rename_type": EditButton(
        "Rename type",
        "Make the ops of one type ops of another",
        on="graph",
        order=410,
        group="Replace and rename",
        keywords="rename_op custom op",
        fields=(FormField("old", "Type"), FormField("new", "New type")),
    ),
    "replace": EditButton(
        "Replace",
        "Replace this op with an op of another type that has the same inputs",
        on="op",
        order=55,
        needs=("inputs", "outputs"),
        fields=(FormField("by", "Op type", words=_REPLACING),),
        options=(("remove", "True"),),
    ),
    "replace_all": EditButton(
        "Replace all",
        "Replace every match of a pattern",
        on="graph",
        order=130,
        keywords="replace everywhere pattern rewrite find substitute",
        fields=(
            FormField(
                "pattern", "Pattern", hint="Such as Relu(BiasAdd(x, Const)), or Identity(x)."
            ),
            FormField(
                "by",
                "Replace by",
                kind="replacement",
                hint="Such as Relu6, tf.nn.gelu, your own function, x or LeakyRelu(x, alpha=0.2).",
            ),
            FormField("into", "Name scope", folded=True),
        ),
    ),
    "set_input": EditButton(
        "Input size",
        "Change the shape or dtype",
        on="op",
        order=70,
        types=tuple(sorted(PLACEHOLDERS)),
        output=True,
        fields=(
            FormField(
                "shape",
                "Shape",
                known="shape",
                hint="None for any size, such as (None, 224, 224, 3).",
            ),
            FormField("dtype", "Dtype", known="dtype"),
        ),
    ),
    "sort": EditButton(
        "Sort ops",
        "List each op of a file after those that it reads",
        on="graph",
        order=240,
        group="Clean up",
        keywords="sort_by_execution_order topological",
    ),
}
"""The buttons by the command that each asks for. Of their fields no more is said here than the
method does not say.
"""

_WHICH_GRAPH = "A graph of the notebook, or the path of a file."
_OTHER_FORMS: Mapping[str, tuple[type[DataclassInstance], tuple[FormField, ...]]] = {
    "clone": (
        p.Form,
        (
            FormField("into", "into scope"),
            FormField("variables", "Variables", texts=("own copies", "shared with original")),
            FormField("others", "", kind="states"),
            FormField(
                "init", "Values", texts=("current values", "initial values", "uninitialized")
            ),
            FormField("placeholders", "New placeholders for inputs", folded=True),
            FormField("reseed", "New random seeds", folded=True),
            FormField("times", "Copies", kind="count", folded=True),
            FormField(
                "device",
                "Device",
                words=_DEVICES,
                folded=True,
                hint="If empty, each op keeps the device of its original.",
            ),
        ),
    ),
    "feed": (
        p.Feed,
        (
            FormField("kind", "Value", texts=("Zeros", "Ones", "Random", "Variable", ".npy file")),
            FormField("shape", "Shape", only_for=("zeros", "ones", "random")),
            FormField("source", "Name", only_for=("variable",)),
            FormField("source", "Path", kind="file", words=(".npy",), only_for=("file",)),
            FormField("low", "From", only_for=("random",)),
            FormField("high", "To", only_for=("random",)),
        ),
    ),
    "restore": (
        p.Restore,
        (
            FormField(
                "path",
                "Checkpoint",
                kind="file",
                words=(".index",),
                hint="The path of its files without their endings, or its .index file.",
            ),
        ),
    ),
    "add": (p.Add, (FormField("source", "Graph", kind="model", hint=_WHICH_GRAPH),)),
    "compare": (p.Beside, (FormField("source", "Graph", kind="graph", hint=_WHICH_GRAPH),)),
    "assign": (
        p.Assign,
        (FormField("variable", "Variable"), FormField("overwrite", "Replace one of that name")),
    ),
}
"""The forms that no edit button opens: the command or request whose arguments each asks for, and
its fields.
"""


def buttons() -> tuple[tuple[str, EditButton], ...]:
    """The panel's buttons with the command of each, in order; their forms' fields are complete."""
    ordered = sorted(BUTTONS.items(), key=lambda pair: pair[1].order)
    return tuple((name, _complete_button(name, button)) for name, button in ordered)


def other_forms() -> Mapping[str, tuple[FormField, ...]]:
    """The complete fields of the forms that no edit button opens, by the name of the form."""
    forms = {}
    for name, (kind, fields) in _OTHER_FORMS.items():
        forms[name] = tuple(_complete_field(kind, field) for field in fields)
    return forms


def _complete_button(name: str, button: EditButton) -> EditButton:
    """The button, whose fields have what the method says of them."""
    registration = registry.registration_of(name)
    assert registration is not None  # each name of the table is that of a command
    kind = registration.kind
    return replace(button, fields=tuple(_complete_field(kind, field) for field in button.fields))


def _complete_field(kind: type[DataclassInstance], field: FormField) -> FormField:
    """The field of a form, with what the parameter and the kind of the operand say of it."""
    signature = call_signature(kind) if issubclass(kind, Command) else inspect.signature(kind)
    parameter = signature.parameters[field.key]
    annotation = parameter.annotation if issubclass(kind, Command) else hints_of(kind)[field.key]
    operand = operands_of(kind).get(field.key)
    form = operand.form if operand is not None else ""
    is_required = parameter.default is inspect.Parameter.empty
    words = field.words or _words(annotation)
    takes = field.kind
    if takes == "text" and form != "device":
        takes = form or _kind_of(annotation)
    initial = field.initial
    if not initial and field.known is None:
        if takes == "choice" and is_required:
            initial = words[0]
        elif isinstance(parameter.default, bool | int | str):
            initial = str(parameter.default)
    return replace(
        field,
        initial=initial,
        kind=takes,
        words=words,
        optional=form == "device" or (not is_required and parameter.default in _NOTHING_GIVEN),
    )


_NOTHING_GIVEN = (None, (), "", "same")


def _words(annotation: Any) -> tuple[str, ...]:
    """The texts of a Literal, from which one is chosen."""
    if isinstance(annotation, str) and annotation.startswith("Literal["):
        texts = annotation.removeprefix("Literal[").partition("]")[0].split(",")
        return tuple(text.strip(' "') for text in texts)
    words = get_args(annotation)
    return words if words and all(isinstance(word, str) for word in words) else ()


def _kind_of(annotation: Any) -> FieldKind:
    """What a field takes for a parameter whose operand does not say it."""
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if _words(annotation):
        return "choice"
    if name == "bool":
        return "switch"
    if name == "int":
        return "count"
    is_text = name.startswith(("str", "OpLike", "TensorLike", "DTypeLike"))
    return "text" if is_text and "Iterable" not in name else "python"
