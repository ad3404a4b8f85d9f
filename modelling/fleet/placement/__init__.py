"""Work out which machine to move to which pool.

In: machines, pools and rules (`content`), and what answers, runs and earlier moves say (`gather`). Out: a Plan with
advice on each machine. Begin with `selectors.planned`, then `planning`; `expected_gain` says what a move promises,
`assignment` chooses moves, `host_evidence` learns from the host itself, `proposals` says what to measure.
"""
