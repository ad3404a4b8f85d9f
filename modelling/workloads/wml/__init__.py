"""Filebench's workload model language (WML): text to the workload that it would start. No Django.

`parse` reads a personality and refuses, with line, column and reason, what it does not understand. It opens and
executes nothing. Begin with workload.py. See docs/models/profiles.md.
"""

from .parser import LONGEST_TEXT
from .tree import Place, WmlError
from .workload import FileSet, Flow, Thread, Workload, parse

__all__ = ["LONGEST_TEXT", "FileSet", "Flow", "Place", "Thread", "WmlError", "Workload", "parse"]
