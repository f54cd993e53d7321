"""The editor's methods for commands, a list: their parameters and documentation are those of the commands.

What type checkers see of them is in `edit_methods.pyi`, which `python -m tests.editor.edit_method_types` writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfgraphwidget.argument_checks import set_property
from tfgraphwidget.editor import command_methods
from tfgraphwidget.editor.command_methods import EditMethod

if TYPE_CHECKING:
    from tfgraphwidget.editor.state import EditorCore


class EditMethods:
    """Edits of parts of the graph. Most methods return an `Edits`, which lists what was changed."""

    clone = EditMethod(result=command_methods.clone)
    preview = EditMethod(
        "clone",
        command_methods.preview,
        """
        Show what `clone` with the same arguments would do; nothing changes.

        {arguments}

        Returns:
            A `Preview`: the ops, new and shared state, inputs from outside.

        Raises:
            GraphEditError: What `clone` would raise for the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> preview = editor.preview("x:0", "net/logits:0", into="copy", variables={"net/hidden": "shared"})
            >>> preview, [state.name for state in preview.shared]
            (<Preview: 12 ops into 'copy', 1 new, 2 shared>, ['net/hidden/w', 'net/hidden/b'])
        """,
    )
    command = EditMethod(
        "clone",
        command_methods.give_command,
        """
        Make the command of a call of `clone`, a value that `edit` applies.

        A call without `inputs` and `outputs` takes the marked boundary or the selected ops, and the command contains
        their names. A call with either does not depend on what is selected.

        {arguments}

        Returns:
            The command.

        Raises:
            NothingTo: Nothing is given, marked or selected.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> command = editor.command("x:0", "net/logits:0", init="initial")
            >>> command.into, command.init
            ('copy', 'initial')
        """,
    )
    add = EditMethod(result=command_methods.first_result)
    grow = EditMethod(result=command_methods.first_result)

    reroute = EditMethod()
    swap = EditMethod()
    connect = EditMethod()
    bypass = EditMethod()
    detach = EditMethod()
    add_control_inputs = EditMethod()
    remove_control_inputs = EditMethod()

    insert = EditMethod()
    replace = EditMethod()
    remove = EditMethod()
    replace_all = EditMethod()

    rename = EditMethod()
    place = EditMethod()
    set_attr = EditMethod()
    set_constant = EditMethod()
    set_trainable = EditMethod("trainable", command_methods.trainable_variables)
    replace_input = EditMethod()

    freeze = EditMethod()
    strip_training = EditMethod()


class SignatureMethods:
    """Edits of the signatures. Each can be undone."""

    add = EditMethod("add_signature")
    rename = EditMethod("rename_signature")
    reorder = EditMethod("order_signature")
    remove = EditMethod("remove_signature")


class Passes:
    """Edits of the whole graph and of the functions that it calls. Each can be undone.

    Passes leave the ops that others name: those of signatures, collections and the marked boundary, variables, and ops
    without consumers. A pass that has nothing to do returns a report that is false in `if`. With `functions=True` the
    functions that the graph calls are changed too: their calls call new functions.
    """

    def __init__(self, core: EditorCore) -> None:
        self._core = core

    __setattr__ = set_property

    remove_identities = EditMethod()
    merge_duplicates = EditMethod()
    fold_batch_norm = EditMethod()
    fold_constants = EditMethod()
    remove_devices = EditMethod()
    remove_attr = EditMethod()
    remove_collection = EditMethod()
    remove_functions = EditMethod()
    rename_type = EditMethod()
    sort = EditMethod()
    obfuscate_names = EditMethod()
    change_batch_size = EditMethod()
    cast = EditMethod(result=command_methods.edit_and_compare)
    round_weights = EditMethod(result=command_methods.edit_and_compare)
    quantize_weights = EditMethod(result=command_methods.edit_and_compare)


__test__ = {name: vars(EditMethods)[name].examples for name in ("preview", "command")}
"""The examples that stand here, for doctest."""
