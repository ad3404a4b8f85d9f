"""Worlds whose truth is known, simulated to judge intervals, placement, changes and the worth of runs.

`python -m tests.simulations COMMAND` runs one, a module of `commands`. Small versions of each are tests.
"""
