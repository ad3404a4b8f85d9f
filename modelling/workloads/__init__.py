"""What workloads do to file systems: profiles, mechanisms, caches, and what more machines do. No Django.

In: a personality (`wml`), a fio job (`fio_job`) or counters of a machine (`observed_load`). Out: a Profile
(`profiles`), and what follows from it (`mechanisms`, `cache_effect`, `scaling`, `curves`). Open `profiles` first.
"""
