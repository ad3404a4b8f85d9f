"""Observe the virtual machines of others on a host, and move their disks.

In: a host whose observation its operator turned on (`actions`). `watching` keeps one job a host at it: what its driver
(`driver.contract`) lists and counts becomes rows, summed by minute, hour and day (`aggregation`, `retention`), which
`selectors` reads. `moving` executes a move of a disk. Begin with `watching` and `moving`.
"""
