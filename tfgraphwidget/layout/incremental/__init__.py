"""Layouts that follow an earlier one, so that what did not change stays in place."""
