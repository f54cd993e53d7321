"""Copying and mixing the values of variables between models and checkpoints."""
