"""Changes of a live tf.Graph: import, edits in place, variables, control flow contexts, devices."""
