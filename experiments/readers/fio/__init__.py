"""What fio prints: JSON, its terse lines, and text for people."""
