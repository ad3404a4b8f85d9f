"""The load of a run: `engines` writes it for fio and Filebench, `bench` watches it on all machines to its end.

The rest judges it: what others did meanwhile, the warm-up, drift, and whether enough is known.
"""
