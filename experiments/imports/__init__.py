"""Files of results, and tables that others printed, into a draft case study.

In come uploaded bytes and what people say beside them (pipeline.checked_answers); out go measurements of the draft, all
or none, and a report. Open pipeline.py first, then reading.py (one walk over the files: reader, normalise, cells, lint,
report), then normalise.py, which turns a file's words into rows. tables/ does the same for tables that others printed,
with their conditions; drafts/ has the pages.
"""
