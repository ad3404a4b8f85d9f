"""Import result files, and tables that others published, into a draft case study.

The input is uploaded bytes with the user's answers (pipeline.checked_answers); the output is measurements of the draft,
all or none, and a report. Start with pipeline.py, then read reading.py (one pass over the files: reader, normalise,
cells, lint, report) and normalise.py, which makes rows of a file's cells. tables/ does the same for published tables
with their conditions; drafts/ has the pages.
"""
