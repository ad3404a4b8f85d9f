"""The names that evidence is filed under: file systems, hypervisors, workloads, with what each can do.

In: entries proposed with a draft, and those of fixtures/. Out: pages and API of the catalogue, the glossary, and the
search over everything visible (`search`). Open `services` first.
"""
