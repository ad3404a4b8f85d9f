"""Hosts and campaigns: a plan on a registered host becomes runs, and their outputs a draft case study.

Open `control` first: it starts, pauses and goes on. `runs.sequence` does one run; `actions` says who may do what.
"""
