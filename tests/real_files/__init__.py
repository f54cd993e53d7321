"""A sweep of every verb over files that people have, and over small ones made to the same kinds."""
