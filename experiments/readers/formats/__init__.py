"""One module for each format of benchmark results: a docstring that shows it, its patterns, and a Reader."""
