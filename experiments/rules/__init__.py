"""Rules for names, numbers and results: plain functions, no Django.

In: words and numbers of users, files and papers. Out: slugs of the catalogue, numbers, faults with their reasons. Open
`names` first: the table of spellings of the catalogue's names. `number_grammar` reads printed numbers, `protocol` has
what a result needs to count, `plausibility` finds numbers that no disk produced, `claim_conditions` parses conditions
of claims.
"""
