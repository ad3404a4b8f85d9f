"""Analyse what workloads do to file systems: profiles, mechanisms, caches and scaling. No Django.

The input is a personality (`wml`), a fio job (`fio_job`) or counters of a machine (`observed_load`), the output a
Profile (`profiles`). Conclusions are in `mechanisms`, `cache_effect`, `scaling` and `curves`. Read `profiles` first.
"""
