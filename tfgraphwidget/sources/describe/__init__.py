"""What is known of one op or function: tensors, attributes, documentation, signature, Python origin."""
