"""The query language: which ops a line of text means."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION_OUTPUT, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import query, regex_timeout, selectors
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.graph.patterns import find_matches, pattern
from tfgraphwidget.graph.regex_timeout import RegexTimeout
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler


def names_of(*names: str) -> GraphIndex:
    return build([v1.NodeDef(name=name, op="NoOp") for name in names])


def hits(index: GraphIndex, text: str) -> list[str]:
    found = query.search(index, text)
    assert found.why == ""
    return [index.names[i] for i in found.ops]


@pytest.fixture(scope="module")
def net() -> GraphIndex:
    """Two convolutions on a GPU, a variable that is trained and one that is not, a loop, a
    function.
    """
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        with v1.name_scope("net"):
            with tf.device("/GPU:0"), v1.name_scope("block1"):
                y = tf.nn.conv2d(x, tf.ones([3, 3, 3, 4]), [1, 2, 2, 1], "SAME", name="Conv")
            with v1.name_scope("block10"):
                y = tf.nn.conv2d(y, tf.ones([3, 3, 4, 4]), [1, 1, 1, 1], "VALID", name="conv")
                tf.nn.conv2d_transpose(
                    y, tf.ones([3, 3, 3, 4]), [1, 4, 4, 3], 1, "SAME", name="back"
                )
        v1.get_variable("w", [2], dtype=tf.float64)
        v1.get_variable("steps", [], dtype=tf.int64, trainable=False)
        v1.while_loop(lambda i: i < 3, lambda i: i + 1, [0], name="turns")
        tf.function(lambda t: t + 1.0, autograph=False)(tf.constant(1.0, name="one"))
        tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]), name="product")
    return tgw.edit(graph)._core.index


def test_a_pattern_is_a_term_up_to_a_space_outside_of_its_parentheses(net: GraphIndex) -> None:
    both = ["net/block1/Conv", "net/block10/conv"]
    assert hits(net, "pattern:Conv2D(Conv2D(x, w), Const)") == both
    assert hits(net, "pattern:Conv2D(x, w, padding='VALID') scope:net") == both[1:]
    assert hits(net, "type:Conv2D -pattern:Conv2D(x,w,padding='VALID')") == both[:1]
    assert "expected ',' or ')'" in query.search(net, "pattern:Relu(x").why
    assert "There is no op type 'Convv'" in query.search(net, "pattern:Convv").why


def test_what_is_called_so_comes_first(inception: tuple[tf.Graph, v1.Session]) -> None:
    index = build(inception[0].as_graph_def().node)
    found = hits(index, "softmax")
    assert found[0] == INCEPTION_OUTPUT[:-2]
    assert sorted(found) == sorted(
        n for n in index.names if "softmax" in (n + index.types[index.ids[n]]).lower()
    )
    assert hits(index, " ") == []
    assert {index.types[index.ids[n]] for n in hits(index, "FusedBatchNormV3")} == {
        "FusedBatchNormV3"
    }


def test_an_op_comes_before_what_lies_in_its_scope() -> None:
    index = names_of("a/b/c", "a/bee", "a/b", "x/a/b", "b/a")
    assert hits(index, "A/B") == ["a/b", "x/a/b", "a/bee", "a/b/c"]


def test_all_terms_must_fit_and_none_with_a_minus() -> None:
    index = names_of("conv/relu", "conv/bias", "dense/relu", "a-b")
    assert hits(index, "relu conv") == ["conv/relu"]
    assert hits(index, "relu -conv") == ["dense/relu"]
    assert hits(index, "-relu -bias") == ["a-b"]
    assert hits(index, "a-b") == ["a-b"]


def test_quotes_keep_spaces_colons_and_minus_signs() -> None:
    index = names_of("a b", "a/b", "-x", "type:y")
    assert hits(index, '"a b"') == ["a b"]
    assert hits(index, "name:'a b'") == ["a b"]
    assert hits(index, '"-x"') == ["-x"]
    assert hits(index, '"type:"') == ["type:y"]


def test_a_tensor_s_name_finds_its_op() -> None:
    index = names_of("x", "a/b", "c")
    assert hits(index, "x:0") == ["x"]
    assert hits(index, "a/b:12") == ["a/b"]
    assert hits(index, "name:c:0") == ["c"]


def test_upper_and_lower_case_are_the_same_in_any_script() -> None:
    index = names_of("Straße", "ΣΊΣΥΦΟΣ", "Ünï", "plain")
    assert hits(index, "STRASSE") == ["Straße"]
    assert hits(index, "σίσυφος") == ["ΣΊΣΥΦΟΣ"]
    assert hits(index, "name:ÜNÏ") == ["Ünï"]


def test_a_star_is_any_text_and_a_pattern_begins_at_a_slash() -> None:
    index = names_of("net/conv1/w", "net/conv2/b", "preconv/w", "w")
    assert hits(index, "name:conv*/w") == ["net/conv1/w"]
    assert hits(index, "*conv*/w") == ["net/conv1/w", "preconv/w"]
    assert hits(index, "name:*2*") == ["net/conv2/b"]
    assert hits(index, "name:n*t/*") == ["net/conv1/w", "net/conv2/b"]


def test_types_are_whole_where_there_is_such_a_type(net: GraphIndex) -> None:
    assert hits(net, "type:conv2d") == ["net/block1/Conv", "net/block10/conv"]
    assert hits(net, "type:Conv2DBack") == ["net/block10/back"]
    assert hits(net, "type:Conv2D*") == ["net/block1/Conv", "net/block10/conv", "net/block10/back"]
    assert hits(net, "type:/^conv/") == []
    assert hits(net, "type:/(?i)^conv2d$/") == ["net/block1/Conv", "net/block10/conv"]


def test_scopes_are_whole_and_hold_what_is_nested(net: GraphIndex) -> None:
    assert hits(net, "scope:block1 conv") == ["net/block1/Conv"]
    assert set(hits(net, "scope:net/")) == {n for n in net.names if n.startswith("net/")}
    assert hits(net, "scope:block type:Conv2D") == ["net/block1/Conv", "net/block10/conv"]
    assert hits(net, "scope:net/block* type:Conv2D -scope:block10") == ["net/block1/Conv"]
    assert hits(net, "scope:/k1$/ type:Conv2D") == ["net/block1/Conv"]


def test_dtypes_and_shapes_are_of_any_output(net: GraphIndex) -> None:
    assert {"w", "w/Read/ReadVariableOp"} & set(hits(net, "dtype:float64 scope:w"))
    assert hits(net, "shape:?x8x8x3") == ["x"]
    assert hits(net, "shape:[None,8,8,3]") == ["x"]
    assert hits(net, "shape:(None, 4, 4, 4)") == ["net/block1/Conv"]
    assert hits(net, "shape:?x...x4 type:Conv2D") == ["net/block1/Conv", "net/block10/conv"]
    assert hits(net, "shape:*x2x2x* type:Conv2D") == ["net/block10/conv"]
    assert "one" in hits(net, "shape:[] dtype:float32")
    assert hits(net, "shape:scalar /^one$/") == hits(net, "shape:() /^one$/") == ["one"]


def test_attributes_by_name_and_value(net: GraphIndex) -> None:
    both = ["net/block1/Conv", "net/block10/conv"]
    assert hits(net, "attr:strides type:Conv2D") == both
    assert hits(net, "attr:strides=[1,2,2,1]") == ["net/block1/Conv"]
    assert hits(net, "attr:strides=[1, 2, 2, 1]") == ["net/block1/Conv"]
    assert hits(net, "attr:strides=2") == ["net/block1/Conv"]
    assert hits(net, "attr:padding=valid") == ["net/block10/conv"]
    assert hits(net, 'attr:padding="SAME" type:Conv2D') == ["net/block1/Conv"]
    assert hits(net, "attr:padding=/^(?i:val)/") == ["net/block10/conv"]
    assert hits(net, "attr:padding=s* type:Conv2D") == ["net/block1/Conv"]
    assert hits(net, "attr:T=float32 type:Conv2D") == both
    assert hits(net, "attr:shape=?x8x8x3") == hits(net, "attr:shape=[None,8,8,3]") == ["x"]
    assert hits(net, "attr:nowhere") == []


def test_an_attribute_that_a_node_leaves_out_has_its_default() -> None:
    node = v1.NodeDef(name="product", op="MatMul", input=["a", "a"])
    node.attr["T"].type = 1
    graph = v1.GraphDef(node=[v1.NodeDef(name="a", op="Placeholder"), node])
    graph.node[0].attr["dtype"].type = 1
    index = tgw.edit(graph)._core.index
    assert hits(index, "attr:transpose_a=false") == ["product"]
    assert hits(index, "attr:transpose_a=true") == []


def test_numbers_are_compared_as_numbers() -> None:
    node = v1.NodeDef(name="norm", op="FusedBatchNormV3")
    node.attr["epsilon"].f = 0.001
    index = build([node])
    assert hits(index, "attr:epsilon=1e-3") == hits(index, "attr:epsilon=0.0010") == ["norm"]
    assert hits(index, "attr:epsilon=0.01") == []


def test_devices(net: GraphIndex) -> None:
    assert "net/block1/Conv" in hits(net, "device:gpu")
    assert "net/block10/conv" not in hits(net, "device:gpu")
    assert "net/block10/conv" in hits(net, 'device:""')


def test_what_an_op_is(net: GraphIndex) -> None:
    assert hits(net, "is:variable") == ["w", "steps"]
    assert hits(net, "is:trainable") == ["w"]
    assert hits(net, "is:input") == ["x"]
    assert "one" in hits(net, "is:constant")
    assert "turns/LoopCond" in hits(net, "is:loop")
    assert "x" not in hits(net, "is:loop")
    assert [net.types[net.ids[n]] for n in hits(net, "is:call")] == ["PartitionedCall"]
    assert {"w", "steps"} <= set(hits(net, "is:Stateful"))
    assert "product" not in hits(net, "is:stateful")


def test_regular_expressions_mind_the_case_and_may_hold_slashes() -> None:
    index = names_of("net/Conv/w", "net/conv/w", "net/conv/b")
    assert hits(index, "/conv/w$/") == ["net/conv/w"]
    assert hits(index, "/(?i)conv/w$/") == ["net/Conv/w", "net/conv/w"]
    assert hits(index, r"name:/^net/\w+/b/ -/C/") == ["net/conv/b"]
    assert hits(index, "/conv") == ["net/Conv/w", "net/conv/w", "net/conv/b"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("/(/", "is not a regular expression"),
        ("type:/[/", "is not a regular expression"),
        ("typ:Conv2D", "did you mean 'type'"),
        ("colour:red", "There is no key 'colour:'.* put quotes around"),
        ("type:", "as in type:Conv2D"),
        ("attr:=3", "after 'attr:'"),
        ("is:varable", "did you mean 'variable'"),
        ("shape:ab", "is not a shape"),
        ("shape:...x...", "is not a shape pattern"),
        ('"open', "has no end"),
        ("x " * 60, "at most 50 terms"),
        ("x" * 5_000, "at most 4,000 characters"),
    ],
)
def test_what_makes_no_sense_is_one_sentence_with_a_way_out(
    mlp: tf.Graph, text: str, sentence: str
) -> None:
    editor = tgw.edit(mlp)
    answer = query.search(editor._core.index, text)
    assert answer.ops == []
    with pytest.raises(GraphEditError, match=sentence) as refusal:
        editor.find(text)
    assert answer.why == refusal.value.why


def test_a_finding_is_a_selection_that_prints_as_its_query(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    found = editor.find("type:MatMul scope:net")
    assert list(found) == ["net/one/MatMul", "net/two/MatMul"]
    assert repr(found) == "editor.find('type:MatMul scope:net')"
    with editor.graph.as_default(), v1.name_scope("net/three/"):
        tf.matmul(editor.graph.get_tensor_by_name("net/two/out:0"), tf.ones([4, 4]), name="MatMul")
    later = eval(repr(found), {"editor": editor})
    assert list(later) == [*found, "net/three/MatMul"]
    with pytest.raises(GraphEditError, match="is not a query"):
        editor.find(3)  # type: ignore[arg-type]


ENDLESS = "^(a|aa)+$"


def test_no_expression_takes_longer_than_its_time_limit_in_any_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = names_of(*["a" * 60 + "/x"] * 1 + [f"op_{i}" for i in range(50)])
    monkeypatch.setattr(query, "_SECONDS", 0.1)
    monkeypatch.setattr(regex_timeout, "SECONDS", 0.1)
    variable = v1.NodeDef(name="v", op="VarHandleOp")
    variable.attr["shared_name"].s = b"a" * 60 + b"/x"
    pattern_index = build([variable])

    def ask() -> None:
        assert "cut after a second" in query.search(index, f"/{ENDLESS}/").why
        with pytest.raises(GraphEditError, match="takes longer than a second"):
            query.find(index, f"/{ENDLESS}/")
        assert query.search(index, f"-/{ENDLESS}/").ops == []
        with pytest.raises(GraphEditError, match="takes longer than a minute"):
            selectors.ops(index, matching=ENDLESS)
        with pytest.raises(GraphEditError, match="takes longer than a minute"):
            find_matches(pattern_index, pattern(f"VarHandleOp(shared_name=/{ENDLESS}/)"))

    ask()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(ask).result()


def test_time_is_looked_at_between_names_too() -> None:
    timeout = RegexTimeout(0.05)
    found = timeout.filter(range(10_000), lambda _: sum(range(5_000)) > 0)
    assert timeout.has_expired
    assert 0 < len(found) < 10_000
    assert timeout.filter(range(3), lambda _: True) == []


@pytest.mark.parametrize(
    "pattern", ["conv", "^net/", "w$", "b[0-9]/", r"\d/w", "a.b", r"\bw\b", "(net)/", "ß"]
)
def test_a_pattern_that_cannot_go_back_finds_what_one_with_a_time_limit_finds(pattern: str) -> None:
    names = ["net/conv1/w", "net/conv2/b", "w", "b1/w", "b22/w", "a_b/net", "axb", "größe", "W"]
    timeout = RegexTimeout(1.0)
    limited = timeout.search(f"{pattern}(?:)")  # "?" has a time limit
    assert [*map(bool, map(timeout.search(pattern), names))] == [*map(bool, map(limited, names))]


@pytest.mark.parametrize(
    "pattern", ["(?:(?:(?:a{50}){50}){50}){50}", "(?:" * 30 + "a" + "){1,9}" * 30]
)
def test_an_expression_that_would_fill_the_memory_is_refused(pattern: str) -> None:
    index = names_of("a")
    assert "repeats too much" in query.search(index, f"/{pattern}/").why
    with pytest.raises(GraphEditError, match="repeats too much"):
        selectors.ops(index, matching=pattern)


@pytest.mark.parametrize(
    "pattern", [r"^(?!b).*\d{1,3}$", r"(?i)A(?=1)", r"(a)\1*", r"\Aa\d\Z", "a[^b]", r"(?P<x>a)"]
)
def test_expressions_mean_what_they_mean_in_python(pattern: str) -> None:
    names = ["a1", "b1", "aa", "A1", "ba"]
    index = names_of(*names)
    wanted = [name for name in names if re.search(pattern, name)]
    assert hits(index, f"/{pattern}/") == wanted
    assert list(selectors.ops(index, matching=pattern).ops) == wanted


def test_names_of_great_length_are_not_for_regular_expressions() -> None:
    index = names_of("a" * 1_000, "a" * 1_001)
    assert hits(index, "/^a/") == ["a" * 1_000]
    assert (
        len(hits(index, "aaa"))
        == len(hits(index, "*a*a*a*a*a*a*a*a*a*a*b*") + hits(index, "name:*a*a*a*"))
        == 2
    )


def test_markup_and_nonsense_are_only_text() -> None:
    nasty = "<img src=x onerror=alert(1)>"
    index = names_of(nasty, "x")
    assert hits(index, "onerror=alert") == [nasty]
    for text in (
        "\x00",
        "-",
        "--",
        "(",
        "[",
        "*",
        "**",
        "\\",
        "é" * 100,
        "=",
        "a=b",
        "\ud800",
        "^x",
        "-*",
    ):
        assert query.search(index, text).why == ""


def test_the_search_box_gets_hits_with_their_scopes_counted(editor: GraphEditor) -> None:
    answers = RequestHandler(editor)
    found, _ = answers.handle(p.Search("type:MatMul", 1))
    assert found == p.SearchReply((p.Hit("net/one/MatMul", "MatMul"),), 2, "", 2)
    wrong, _ = answers.handle(p.Search("typ:MatMul"))
    assert isinstance(wrong, p.SearchReply)
    assert (wrong.hits, wrong.total) == ((), 0)
    assert "did you mean 'type'" in wrong.why


def test_all_that_is_found_can_be_selected_and_hidden(editor: GraphEditor) -> None:
    answers = RequestHandler(editor)
    painted, _ = answers.handle(p.SelectMatching("type:MatMul", "select"))
    assert isinstance(painted, p.SelectionReply | p.SceneReply)
    assert painted.state.expression == "editor.find('type:MatMul')"
    answers.handle(p.SelectMatching("type:Relu", "add"))
    assert set(editor.selection or ()) == {
        f"net/{n}/{op}" for n in ("one", "two") for op in ("MatMul", "out")
    }
    drawn, _ = answers.handle(p.SelectMatching("type:Relu", "hide"))
    assert isinstance(drawn, p.SceneReply)
    assert drawn.state.hidden == 2
    assert drawn.state.selected_ops == 4
    drawn, _ = answers.handle(p.SelectMatching("scope:net/two", "only"))
    assert isinstance(drawn, p.SceneReply)
    assert drawn.state.hidden == len(editor._core.index) - len(editor.ops(scope="net/two"))
    drawn, _ = answers.handle(p.Hide("nothing"))
    assert isinstance(drawn, p.SceneReply)
    assert drawn.state.hidden == 0
