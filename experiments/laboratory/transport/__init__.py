"""The way to a machine: argument lists go in, bytes come out. Open `ssh` first.

`remote` has the verbs of remote.sh as functions; the rest reads what machines answer.
"""
