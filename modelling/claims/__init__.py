"""Judge what the papers claimed and predicted by the published evidence.

In: claims with their checks (experiments.rules.claim_conditions), and what `gather` reads of published case studies.
Out: verdicts and scores, kept by `verdicts`, shown by `views` and `api`, counted for others by `selectors`.
Open `evaluation` first: it turns one condition and the facts into comparisons and a verdict.
"""
