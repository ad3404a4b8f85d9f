"""The evidence that comes with KDB, loaded from fixtures/: the papers, what others published, and its corrections.

Start with load; files and rows turn words into values and rows, studies reads what others published, abilities and
signatures have files of their own. releases/ writes all published evidence into one file, and reads it again.
"""
