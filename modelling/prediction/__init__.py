"""Forecast the ratio of any two configurations' speeds in another laboratory, from everything published.

In: two sides with their choices and the load, from an entry or a row of a CSV file (`contrasts`). Out: a ratio with its
interval. Open `content` first; other rooms ask `selectors`. `validation` tests it on held-out groups.
"""
