"""Judge what the papers claimed and predicted by the published evidence.

The input is claims with their checks (experiments.rules.claim_conditions) and the facts that `gather` reads from
published case studies. `verdicts` stores verdicts and scores, `views` and `api` show them, `selectors` counts them.
Read `evaluation` first: it turns one condition and the facts into comparisons and a verdict.
"""
