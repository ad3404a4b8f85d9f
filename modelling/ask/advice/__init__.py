"""Advice on a load of one's own: from its profile to the answers for the nearest measured workloads.

In: a personality, a fio job or shares, checked by `forms`. Out: Advice (`content`), as page and API. Open `gather`
first; `reasoning` decides what is near.
"""
