"""Compute which machine to move to which pool.

The input is machines, pools and rules (`content`) and evidence from answers and runs (`gather`), the output a Plan with
advice on each machine. `expected_gain` computes what a move promises, `assignment` chooses moves. Read
`selectors.compute_plan` first.
"""
