"""What a person comes to do, one file per job: with a real mouse, and the clicks counted."""
