"""A sweep of every method over files that people have, and over small ones of the same kinds."""
