"""Tell people when the answer to a question changes: by notification (followers) or as an Atom feed (feed).

In: questions that users follow, and new snapshots. Out: notifications and feed entries with permanent addresses.
Open first: followers.py.
"""
