"""Clones and edits of function bodies: tf.Modules, their state, custom gradients."""
