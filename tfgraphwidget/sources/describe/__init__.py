"""The facts about one op or function: tensors, attributes, documentation, signature, Python
origin.
"""
