"""Keep answers: snapshots by question, method and knowledge revision, and what permanent addresses gave first.

In: a Question, with the revision and method that an address names. Out: an AnswerVersion, or None while a worker is at
it. Open first: versions.py, then selectors.py and snapshots.py; staleness.py and caveats.py say what weakens an answer
now. subscriptions/ tells who follows a question, previews/ what publishing a draft would change.
"""
