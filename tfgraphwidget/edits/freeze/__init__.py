"""Freezing: variables become constants, training goes, batch normalization is folded."""
