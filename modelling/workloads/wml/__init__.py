"""Filebench's workload model language (WML): text to a workload that can be reckoned with. No Django.

`parse` reads a personality of either dialect and refuses, with line, column and reason, what it does not
understand. It opens and executes nothing. See docs/models/profiles.md.
"""

from .grammar import DIALECTS, LONGEST_TEXT, parse_tree
from .meaning import FileSet, Flow, Thread, Workload, parse
from .tree import Note, Place, Tree, WmlError

__all__ = [
    "DIALECTS",
    "LONGEST_TEXT",
    "FileSet",
    "Flow",
    "Note",
    "Place",
    "Thread",
    "Tree",
    "WmlError",
    "Workload",
    "parse",
    "parse_tree",
]
