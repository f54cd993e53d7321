"""The scene: everything the renderer needs, as named typed arrays; its colors and its pictures."""
