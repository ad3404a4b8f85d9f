"""Plan for observed machines, move their disks, and compare the load before and after.

`observed_fleet` reads the machines; `plans`, `policies` and `manual` request `moves`, which jobs execute (`execution`)
and `outcomes` judge. Read `moves` first.
"""
