"""Compute which machine to move to which pool.

The input is machines, pools and rules (`content`) and evidence from answers, runs and earlier moves (`gather`), the
output a Plan with advice on each machine. `expected_gain` computes what a move promises, `assignment` chooses moves,
`host_evidence` learns from the host itself, `proposals` says what to measure. Read `selectors.compute_plan` first.
"""
