"""Tell which known workloads a machine's disks are under.

In: signatures, whose workload is known, and the minutes of observed machines (experiments.fleet). Out: hours of each
machine, and their mix. `features` says what is compared, `classifier` learns, `evaluation` judges, `persistence` keeps
models and hours. Begin with `persistence.detect` and `selectors`.
"""
