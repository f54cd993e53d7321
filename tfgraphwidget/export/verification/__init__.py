"""Files that were written are loaded back and run beside the editor's graph."""
