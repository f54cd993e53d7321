"""tf.functions, Keras models and functions of a library: their bodies and the state that they
capture.
"""
