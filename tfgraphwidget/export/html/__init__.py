"""The HTML page that needs no kernel: its data and the bundle that draws it."""
