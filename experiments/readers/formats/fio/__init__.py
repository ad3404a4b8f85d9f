"""Read what fio prints: JSON, terse lines, and text for people."""
