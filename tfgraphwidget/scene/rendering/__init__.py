"""A scene as SVG, with matplotlib, or as a list of shapes in painting order."""
