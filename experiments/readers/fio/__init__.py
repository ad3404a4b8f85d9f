"""Read fio's output: JSON, its terse lines, and text for people."""
