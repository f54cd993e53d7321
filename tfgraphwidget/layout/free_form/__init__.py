"""Layouts by other means than layers: positions of a caller, pinned boxes, overlap removal, polylines."""
