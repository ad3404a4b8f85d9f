"""Say what publishing a draft would change in the answers (preview), and what an ending did change (effects).

In: a draft, or a knowledge revision that took something out. Out: the headlines before and after, kept as JSON.
Open first: preview.py.
"""
