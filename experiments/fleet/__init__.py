"""Observe the virtual machines of others on a host; `driver` also moves their disks, for modelling.fleet.moving.

In: a host whose observation its operator turned on (`actions`). `watching` keeps one job a host at it: what its driver
(`driver.contract`) lists and counts becomes rows, summed by minute, hour and day (`aggregation`, `retention`), which
`selectors` reads. Begin with `watching`.
"""
