"""Positions of boxes and routes of edges: a compound layered layout, container by container."""
