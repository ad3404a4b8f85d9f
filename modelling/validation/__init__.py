"""How well each model predicts what it has not seen, and whether answers contradict each other.

In: all published evidence. Out: one report (`content`), kept by `reports` and shown by `tables` and `api`; and what
`manage.py check_coherence` prints. Open `reports` first: it leaves each case study (`leave_one_out`) and
each research group (`left_out_groups`) out in turn. `coherence` has the rules on answers.
"""
