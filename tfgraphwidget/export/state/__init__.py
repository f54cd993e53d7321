"""The subgraph that signatures need, and the state that goes with it: variables, tables, assets."""
