"""The graphs that tests of the drawing share."""

from tests.layout.drawn_graphs import graph, inception, network

__all__ = ["graph", "inception", "network"]
