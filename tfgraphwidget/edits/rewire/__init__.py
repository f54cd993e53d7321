"""Edits that move edges: reroute, swap, connect, bypass; what is checked before an edge is moved."""
