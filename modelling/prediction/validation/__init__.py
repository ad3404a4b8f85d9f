"""Test the model's forecasts on held-out research groups.

In: all published evidence. Out: the report kept as QualityReport, which page, API and `manage.py model_quality` show,
and from which answers take their caveats. Open `reports` first: it leaves each research group out
(`left_out_groups`). That answers do not contradict each other is a test (tests/coherence).
"""
