"""What to change: commands plan patches, `apply` is the only module that carries one out."""
