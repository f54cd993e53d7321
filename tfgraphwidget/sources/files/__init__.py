"""Files that hold graphs: recognized, read as data, described, and imported into TensorFlow when
something runs.
"""
