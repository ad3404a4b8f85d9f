"""Estimate how fast the entries of a question are in a new laboratory, and what to recommend. No Django.

In: the DataFrames of arms and tier lists (modelling.evidence.dataframes). Out: a Ranking (`ranking`) with a posterior
(`bayes`), a verdict (`verdict`) and a recommendation (`recommendation`). Open `ranking` first, then `cells` and
`hierarchy`, the model of speed behind it; `machine` and `sequential` are the model of runs on one machine.
"""
