"""Graphs and sessions of our own, in which ops are checked, shaped and run without touching the user's."""
