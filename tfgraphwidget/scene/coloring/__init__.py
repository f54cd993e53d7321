"""Colors: the palette, the scales of values, and the encodings of what is known of ops."""
