"""The rows of the facts as every other room reads them.

In: the tables of experiments.models. Out: what a reader may see (`visible`), what a case study refers to
(`references`), how far it meets the protocol (`checklist`), uploaded bytes (`files`), and every kind of fact as a list
and as one object (`api`). Open `visible` first.
"""
