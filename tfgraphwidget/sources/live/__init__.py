"""Live `tf.Graph`s and FuncGraphs: their ops, variables, control flow contexts, sessions and
devices.
"""
