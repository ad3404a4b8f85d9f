"""Plan for observed machines, move their disks, and compare before with after.

In: the fleet as observed (`observed_fleet`), confirmed plans (`plans`, `policies`) or single wishes (`manual`). Out:
moves (`moves`), which jobs execute (`records`, experiments.fleet.moving), and their `outcomes`. Begin with `moves`.
"""
