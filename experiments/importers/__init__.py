"""Readers of benchmark results, one module a format. Standard library only (defusedxml for XML)."""
