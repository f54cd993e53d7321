"""Dtypes and static shapes of NodeDefs, and limits on what TensorFlow is made to infer."""
