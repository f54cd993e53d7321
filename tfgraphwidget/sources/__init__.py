"""What can be opened: live graphs, functions, models, files; each becomes a Source with a Body to read."""

from __future__ import annotations

from tfgraphwidget.sources.body import Body, Signature, Source
from tfgraphwidget.sources.describe import OpFacts, TensorFacts, describe
from tfgraphwidget.sources.functions import open_function
from tfgraphwidget.sources.opening import open_source

__all__ = ["Body", "OpFacts", "Signature", "Source", "TensorFacts", "describe", "open_function", "open_source"]
