"""Everything that this package uses of TensorFlow beyond its public API: private attributes and
internal modules.

No other package reads a private attribute of a TensorFlow object or imports from
`tensorflow.python` (tests/ test_layering.py). So a TensorFlow release that changes an internal name
is a change of this package. Each function names what it uses after "Private:", and why the public
API does not do. All of them were run on the release `tf_releases.NEWEST`, and `tf_releases` lists
what they use: where a release lacks one of these names, the functions that use it refuse their
calls.

What is read for every op of a large graph is an `attrgetter` or `methodcaller`, or takes many ops
at a time: a Python function for each op would take longer than TensorFlow does.
"""

import lazy_loader

# All at once: what a release of TensorFlow lacks is looked for in all of them (`bind`).
from tfgraphwidget.tensorflow_modules import bind
from tfgraphwidget.tf_internals import (  # noqa: F401
    c_graphs,
    functions,
    graphs,
    keras,
    locks,
    loop_contexts,
    meta_graphs,
    operations,
    sessions,
    variable_objects,
)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
bind()
