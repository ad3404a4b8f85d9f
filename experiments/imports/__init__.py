"""Files of results into a draft case study.

In come uploaded bytes and what people say beside them (pipeline.checked_answers); out go measurements of the draft, all
or none, and a report. Open pipeline.py first, then normalise.py, which turns a file's words into rows. tables/ does the
same for tables that others printed, with their conditions; drafts/ has the pages.
"""
