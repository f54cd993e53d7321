"""The tree that is drawn: name scopes, layers and repeated blocks as groups. Read from a GraphIndex, no TensorFlow."""
