"""Clone: which ops are copied, under which names, reading what, with which state and functions."""
