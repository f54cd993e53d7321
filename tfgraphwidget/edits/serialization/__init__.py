"""Edits as JSON and as Python source."""
