"""Detect which known workloads run on a machine, from the statistics of its disks.

The input is signatures, whose workload is known, and minutes of observed machines (experiments.fleet), the output
detected hours of each machine and their mix. `features` computes what is compared, `classifier` learns, `evaluation`
judges, `persistence` stores models and hours. Read `persistence.detect` and `selectors` first.
"""
