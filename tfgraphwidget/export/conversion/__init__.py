"""Convert frozen graphs to the formats of other runtimes, in a process of its own."""
