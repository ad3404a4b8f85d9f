"""Kits: plans of few runs that answer one common question, the same in every laboratory. Open `planning` first."""
