"""Advise on a user's load: from its profile to the answers for the nearest measured workloads.

In: a personality, a fio job or shares, checked by `forms`. Out: Advice (`content`), as page and API. Open `gather`
first; `reasoning` finds the nearest workloads.
"""
