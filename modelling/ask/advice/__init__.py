"""Advise on a user's load: from its profile to the answers for the nearest measured workloads.

In: a Filebench personality or a fio job, checked by `forms`. Out: Advice (`content`), as page and API. Open `gather`
first.
"""
