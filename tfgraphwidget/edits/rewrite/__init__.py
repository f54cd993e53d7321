"""Edits that change ops: insert, replace, remove, rename, attributes, the dtype and shape of inputs."""
