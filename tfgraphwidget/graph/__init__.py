"""What is there: read-only views of a graph, without TensorFlow."""
