"""Load written files and compare their outputs with those of the editor's graph."""
