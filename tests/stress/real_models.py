"""Models as people have them, each as a live object and as the SavedModel of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.export.test_saved_model_identity import Hub

layers = keras.layers
TEXTS = ["the cat sat", "a dog ran far away", "the the unknown"]


@dataclass(frozen=True)
class Subject:
    """One thing to open, beside the original that its edits are compared with.

    `call` and `arguments` run the original for inference: positional arguments, or a dict of named
    ones for a signature. `graph` is its FuncGraph, whose variables are the original's. `root` is
    the object whose variables a checkpoint has, `folder` the SavedModel. `names` are those of the
    arguments of a Keras model.
    """

    source: Any
    call: Callable[..., Any]
    arguments: Sequence[Any] | Mapping[str, Any]
    graph: Any
    root: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    signature: str = "serving_default"
    names: Sequence[str] = ()

    @property
    def variables(self) -> Sequence[Any]:
        """All variables of the original."""
        return getattr(self.root, "variables", self.graph.variables)


@dataclass(frozen=True)
class RealModel:
    """A model by its name. `make test` runs the small ones."""

    name: str
    open: Callable[[Path], Subject]
    is_small: bool

    def __repr__(self) -> str:
        return self.name


def shake(variables: Iterable[Any]) -> None:
    """Give variables values that no initializer gives; those of a variance stay positive."""
    chance = np.random.default_rng(7)
    for variable in variables:
        if tf.as_dtype(variable.dtype).is_floating:
            noise = (
                chance.uniform(0.0, 0.05, variable.shape)
                if len(variable.shape) < 2
                else chance.normal(0.0, 0.02, variable.shape)
            )
            variable.assign(variable + noise.astype(np.float32))


def scale(variables: Iterable[Any]) -> None:
    """Give variables other values of the same size, as further training would."""
    chance = np.random.default_rng(8)
    for variable in variables:
        if tf.as_dtype(variable.dtype).is_floating:
            variable.assign(
                variable * chance.uniform(0.95, 1.05, variable.shape).astype(np.float32)
            )


def settle(model: Any, arguments: Sequence[Any]) -> None:
    """Give batch normalizations the statistics of the arguments, as training would.

    Without them the untrained layers of a deep model multiply: its outputs are of size 1e9, or all
    the same.
    """
    settings = {layers.BatchNormalization: "momentum", layers.Dropout: "rate"}
    found = [
        (layer, name, getattr(layer, name))
        for layer in model._flatten_layers()
        for kind, name in settings.items()
        if isinstance(layer, kind)
    ]
    if any(name == "momentum" for _, name, _ in found):
        for layer, name, _ in found:
            setattr(layer, name, 0.0)
        model(*arguments, training=True)
        for layer, name, value in found:
            setattr(layer, name, value)


def of_keras(build: Callable[[], tuple[Any, Sequence[Any]]]) -> Callable[[Path], Subject]:
    """A Keras model and arguments of its call."""

    def opened(_: Path) -> Subject:
        keras.utils.set_random_seed(0)
        model, arguments = build()
        model(*arguments)
        shake(model.variables)
        settle(model, arguments)

        def call(*given: Any) -> Any:
            return model(*given, training=False)

        function = tf.function(call).get_concrete_function(*tf.nest.map_structure(_spec, arguments))
        names = [tensor.name for tensor in model.inputs]
        return Subject(model, call, arguments, function.graph, model, names=names)

    return opened


def exported(build: Callable[[], tuple[Any, Sequence[Any]]]) -> Callable[[Path], Subject]:
    """What `model.export` writes, with the signatures serve and serving_default."""

    def opened(folder: Path) -> Subject:
        keras.utils.set_random_seed(0)
        model, arguments = build()
        model(*arguments)
        shake(model.variables)
        settle(model, arguments)
        path = folder / "export"
        model.export(str(path), verbose=False)
        given = (
            arguments[0]
            if isinstance(arguments[0], dict)
            else dict(zip([t.name for t in model.inputs], tf.nest.flatten(arguments), strict=True))
        )
        return of_signature(path, "serving_default", given)

    return opened


def of_signature(path: Path, signature: str, arguments: Mapping[str, Any]) -> Subject:
    """A signature of a SavedModel."""
    loaded = tf.saved_model.load(str(path))
    function = loaded.signatures[signature]
    function.owner = loaded  # which holds the variables
    arguments = {name: tf.constant(value) for name, value in arguments.items()}
    return Subject(
        path, function, arguments, function.graph, loaded, {"signature": signature}, path, signature
    )


def _spec(value: Any) -> tf.TensorSpec:
    tensor = tf.convert_to_tensor(value)
    return tf.TensorSpec([None, *tensor.shape[1:]], tensor.dtype)


def _images(size: int, count: int = 2) -> np.ndarray:
    """Images of large colored squares: of mere noise all features are alike, and their differences
    rounding.
    """
    squares = np.random.default_rng(0).uniform(0, 255, (count, 4, 4, 3)).astype(np.float32)
    return squares.repeat(size // 4, 1).repeat(size // 4, 2)


def application(name: str, size: int) -> Callable[[], tuple[Any, Sequence[Any]]]:
    """A model of keras.applications for small images."""

    def build() -> tuple[Any, Sequence[Any]]:
        model = getattr(keras.applications, name)(
            weights=None, input_shape=(size, size, 3), classes=7, classifier_activation=None
        )
        return model, [_images(size, 8)]

    return build


def transformer() -> tuple[Any, Sequence[Any]]:
    """An encoder of two blocks with padding masks."""
    ids = keras.Input((6,), dtype="int32", name="ids")
    x = layers.Embedding(20, 8, mask_zero=True, name="tokens")(ids)
    for k in range(2):
        attended = layers.MultiHeadAttention(2, 4, dropout=0.1, name=f"attention_{k}")(x, x)
        x = layers.LayerNormalization(name=f"norm_a_{k}")(x + attended)
        hidden = layers.Dense(16, activation="gelu", name=f"wide_{k}")(x)
        x = layers.LayerNormalization(name=f"norm_b_{k}")(
            x + layers.Dense(8, name=f"narrow_{k}")(hidden)
        )
    pooled = layers.GlobalAveragePooling1D(name="pooled")(x)
    hidden = layers.Dense(8, activation="relu", name="hidden")(pooled)
    model = keras.Model(ids, layers.Dense(3, name="classes")(hidden), name="encoder")
    return model, [np.array([[1, 2, 3, 0, 0, 0], [4, 5, 6, 7, 8, 0]], np.int32)]


def text() -> tuple[Any, Sequence[Any]]:
    """A bidirectional LSTM over TextVectorization, and a category through StringLookup."""
    texts, kind = (
        keras.Input((), dtype="string", name="texts"),
        keras.Input((1,), dtype="string", name="kind"),
    )
    words = layers.TextVectorization(output_sequence_length=5, name="words")
    words.adapt(tf.constant(TEXTS[:2]))
    lookup = layers.StringLookup(vocabulary=["news", "mail"], output_mode="one_hot", name="lookup")
    x = layers.Embedding(words.vocabulary_size(), 6, mask_zero=True, name="embedding")(words(texts))
    x = layers.Bidirectional(layers.LSTM(4, name="lstm"), name="both")(x)
    x = layers.Concatenate(name="joined")([x, lookup(kind)])
    x = layers.Dense(8, activation="relu", name="hidden")(x)
    model = keras.Model([texts, kind], layers.Dense(2, name="classes")(x), name="reader")
    return model, [[np.array(TEXTS, object), np.array([["news"], ["mail"], ["?"]], object)]]


def preprocessing() -> tuple[Any, Sequence[Any]]:
    """Images through Rescaling and RandomFlip, numbers through an adapted Normalization, categories
    encoded.
    """
    image, numbers = keras.Input((8, 8, 3), name="image"), keras.Input((3,), name="numbers")
    category = keras.Input((1,), dtype="int32", name="category")
    normalization = layers.Normalization(name="normalization")
    normalization.adapt(np.random.default_rng(2).normal(3.0, 2.0, (20, 3)).astype(np.float32))
    x = layers.Rescaling(1 / 127.5, -1.0, name="rescaling")(image)
    x = layers.RandomFlip("horizontal", seed=3, name="flip")(x)
    x = layers.Conv2D(4, 3, name="convolution")(x)
    x = layers.BatchNormalization(name="batch")(x)
    x = layers.GlobalMaxPooling2D(name="pooled")(layers.ReLU(name="relu")(x))
    encoded = layers.CategoryEncoding(4, output_mode="one_hot", name="encoded")(category)
    x = layers.Concatenate(name="joined")([x, normalization(numbers), encoded])
    x = layers.Dense(8, activation="relu", name="hidden")(x)
    outputs = {"score": layers.Dense(1, name="score")(x), "kind": layers.Dense(2, name="kind")(x)}
    model = keras.Model(
        {"image": image, "numbers": numbers, "category": category}, outputs, name="mixed"
    )
    given = {
        "image": _images(8),
        "numbers": np.random.default_rng(3).normal(3.0, 2.0, (2, 3)).astype(np.float32),
        "category": np.array([[1], [3]], np.int32),
    }
    return model, [given]


class TwoWays(keras.Model):
    """A model that is called for training or not, and with a tensor or a dict."""

    def __init__(self) -> None:
        super().__init__(name="two_ways")
        self.hidden = layers.Dense(6, activation="relu", name="hidden")
        self.batch = layers.BatchNormalization(name="batch")
        self.last = layers.Dense(2, name="last")
        self.either = tf.function(self.call)

    def call(self, inputs: Any, training: bool = False) -> Any:
        """The classes; of a dict, also what they are computed from."""
        x = inputs["x"] * inputs["weight"] if isinstance(inputs, dict) else inputs
        hidden = self.batch(self.hidden(x), training=training)
        classes = self.last(hidden)
        return {"classes": classes, "hidden": hidden} if isinstance(inputs, dict) else classes


def two_ways() -> tuple[TwoWays, dict[str, Any], dict[str, list[Any]]]:
    """The model, its traces in their order, and arguments of each."""
    keras.utils.set_random_seed(0)
    model, x = (
        TwoWays(),
        tf.constant(np.random.default_rng(4).normal(size=(3, 4)).astype(np.float32)),
    )
    model(x)
    shake(model.variables)
    spec = tf.TensorSpec([None, 4], name="x")
    traces = {
        "infer": model.either.get_concrete_function(spec, training=False),
        "train": model.either.get_concrete_function(spec, training=True),
        "weighted": model.either.get_concrete_function(
            {"x": spec, "weight": tf.TensorSpec([], name="weight")}
        ),
    }
    return (
        model,
        traces,
        {"infer": [x], "train": [x], "weighted": [{"x": x, "weight": tf.constant(0.5)}]},
    )


def trace_of_two_ways(name: str) -> Callable[[Path], Subject]:
    """One of the traces of a tf.function of a subclassed model."""

    def opened(_: Path) -> Subject:
        model, traces, arguments = two_ways()
        function, options = traces[name], {"signature": list(traces).index(name)}
        given = arguments[name]

        def call(*inputs: Any) -> Any:
            return function(*inputs, training=name == "train")

        return Subject(model.either, call, given, function.graph, model, options, names=["x"])

    return opened


def signature_of_two_ways(name: str) -> Callable[[Path], Subject]:
    """The same trace as a signature of a SavedModel."""

    def opened(folder: Path) -> Subject:
        model, traces, arguments = two_ways()
        signatures = {"infer": traces["infer"], "train": traces["train"]}
        signatures["weighted"] = tf.function(
            lambda weight, x: model.either({"x": x, "weight": weight}),
            input_signature=[tf.TensorSpec([], name="weight"), tf.TensorSpec([None, 4], name="x")],
        )
        tf.saved_model.save(model, str(folder / "saved"), signatures=signatures)
        given = arguments[name][0]
        return of_signature(
            folder / "saved", name, given if isinstance(given, dict) else {"x": given}
        )

    return opened


def hub(signature: str) -> Callable[[Path], Subject]:
    """A signature of a module like one of TensorFlow Hub; the vocabulary is only in its assets."""

    def opened(folder: Path) -> Subject:
        (folder / "words.txt").write_text("a\nb\n")
        module = Hub(folder / "words.txt")
        signatures = {"default": module.default, "embed": module.embed, "tokenize": module.tokenize}
        tf.saved_model.save(module, str(folder / "hub"), signatures=signatures)
        (folder / "words.txt").unlink()
        return of_signature(folder / "hub", signature, {"words": np.array(["b", "a", "?"], object)})

    return opened


def sequences() -> tuple[Any, Sequence[Any]]:
    """Two sequences through the same nested model, convolutions, a GRU and attention; two
    outputs.
    """
    first, second = keras.Input((8, 3), name="first"), keras.Input((8, 3), name="second")
    tower = keras.Sequential(
        [
            keras.Input((8, 3)),
            layers.Conv1D(6, 3, padding="causal", activation="silu"),
            layers.SeparableConv1D(6, 3, padding="same"),
            layers.GroupNormalization(2),
        ],
        name="tower",
    )
    a, b = tower(first), tower(second)
    attended = layers.Attention(name="attention")([a, b])
    shared = layers.Dense(5, activation="relu", name="shared")
    state = layers.GRU(4, name="gru")(
        layers.Concatenate(name="joined")([shared(attended), shared(b)])
    )
    hidden = layers.Dense(8, activation="relu", name="hidden")(state)
    outputs = [layers.Dense(2, name="classes")(hidden), layers.Dense(1, name="score")(hidden + 1.0)]
    chance = np.random.default_rng(5)
    return keras.Model([first, second], outputs, name="sequences"), [
        [chance.normal(size=(2, 8, 3)).astype(np.float32) for _ in range(2)]
    ]


class OwnStep(keras.Model):
    """A functional model with a train_step, which has been trained by it."""

    def train_step(self, data: Any) -> dict[str, Any]:
        """A step with a loss of its own."""
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(self(x, training=True) - y))
        self.optimizer.apply_gradients(
            zip(
                tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True
            )
        )
        return {"loss": loss}


def own_step() -> tuple[Any, Sequence[Any]]:
    """Words through an embedding, attention and a residual block, trained for a step."""
    ids = keras.Input((6,), dtype="int32", name="ids")
    x = layers.Embedding(12, 6, name="embedding")(ids)
    x = layers.Add(name="residual")([x, layers.AdditiveAttention(name="attention")([x, x])])
    x = layers.Dense(6, activation="relu", name="hidden")(layers.Flatten(name="flat")(x))
    model = OwnStep(ids, layers.Dense(2, name="classes")(x), name="own_step")
    words = np.random.default_rng(6).integers(0, 12, (4, 6)).astype(np.int32)
    model.compile(keras.optimizers.Adam())
    model.fit(words, np.ones((4, 2), np.float32), verbose=0)
    return model, [words]


class Newton(tf.Module):
    """Loops and branches that Python did not unroll."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = tf.Variable(
            np.random.default_rng(9).normal(0, 0.5, (3, 3)).astype(np.float32), name="weights"
        )
        self.bias = tf.Variable(tf.fill([3], 0.1), name="bias")

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 3], name="x"),
            tf.TensorSpec([], tf.int32, name="rounds"),
        ]
    )
    def iterate(self, x: Any, rounds: Any) -> Any:
        """Tanh layers, as many as asked for, of which every other one is scaled."""

        def body(k: Any, y: Any) -> tuple[Any, Any]:
            y = tf.tanh(y @ self.weights + self.bias)
            return k + 1, tf.cond(k % 2 == 0, lambda: y * 1.5, lambda: tf.nn.softplus(y))

        return {"y": tf.while_loop(lambda k, _: k < rounds, body, (0, x))[1]}


def newton(folder: Path) -> Subject:
    """The function."""
    module = Newton()
    function = module.iterate.get_concrete_function()
    x = tf.constant(np.random.default_rng(10).normal(size=(2, 3)).astype(np.float32))
    return Subject(
        module.iterate,
        module.iterate,
        [x, tf.constant(3)],
        function.graph,
        module,
        names=["x", "rounds"],
    )


def newton_saved(folder: Path) -> Subject:
    """Its SavedModel."""
    module = Newton()
    tf.saved_model.save(module, str(folder / "newton"), signatures=module.iterate)
    x = np.random.default_rng(10).normal(size=(2, 3)).astype(np.float32)
    return of_signature(folder / "newton", "serving_default", {"x": x, "rounds": np.int32(3)})


_KERAS = {"transformer": transformer, "BiLSTM of texts": text, "preprocessing": preprocessing}
_UNSEEN = {"sequences": sequences, "own train_step": own_step}
APPLICATIONS = ("MobileNetV3Small", "EfficientNetV2B0", "ConvNeXtTiny")
_SMALL = (
    "transformer", "BiLSTM of texts, exported", "preprocessing, exported", "subclass, train",
    "subclass, weighted, saved", "Hub, default",
)  # fmt: skip

REAL_MODELS: tuple[RealModel, ...] = tuple(
    RealModel(name, open_subject, name in _SMALL)
    for name, open_subject in {
        **{name: of_keras(build) for name, build in _KERAS.items()},
        **{f"{name}, exported": exported(build) for name, build in _KERAS.items()},
        **{name: of_keras(build) for name, build in _UNSEEN.items()},
        **{f"{name}, exported": exported(build) for name, build in _UNSEEN.items()},
        "while_loop": newton,
        "while_loop, saved": newton_saved,
        **{f"subclass, {name}": trace_of_two_ways(name) for name in ("infer", "train", "weighted")},
        **{
            f"subclass, {name}, saved": signature_of_two_ways(name)
            for name in ("infer", "train", "weighted")
        },
        **{f"Hub, {name}": hub(name) for name in ("default", "embed")},
        **{name: of_keras(application(name, 64)) for name in APPLICATIONS},
        **{f"{name}, exported": exported(application(name, 64)) for name in APPLICATIONS},
    }.items()
)
