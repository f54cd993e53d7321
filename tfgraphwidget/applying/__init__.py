"""Carrying edits out: everything that changes a live graph or a session."""
