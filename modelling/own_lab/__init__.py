"""Measurements on readers' own machines, for the members of their laboratory alone (`kdb measure`).

In: runs reported by the client, in sessions (rows of the model Sitting). Out: what to run next, a decision, and answers
on that machine (selectors). Open first: sessions.py, then local_answer.py; docs/models/here.md has the model. changes/
has what was measured there over time, and where it changed.
"""
