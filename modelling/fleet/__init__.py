"""Virtual machines in operation: what they do (detection), where they should lie (placement), and their moves (moving).

In: minutes of disks that experiments.fleet observed, and what answers and runs say of pools. Out: mixes of workloads,
plans, and moved disks with their outcomes. Open `placement.selectors` first.
"""
