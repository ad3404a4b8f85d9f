"""Compute what publishing a draft would change in the answers (preview), and what a retraction changed (effects).

In: a draft, or a knowledge revision that withdrew evidence. Out: the headlines before and after, stored as JSON.
Open first: preview.py.
"""
