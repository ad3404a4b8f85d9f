"""Pages of those who brought published case studies and chose to be named: contributors.py says what a page shows."""
