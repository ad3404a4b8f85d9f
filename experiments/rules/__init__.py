"""The rules that facts are held to; plain functions, no Django.

In: what people, files and papers say. Out: the catalogue's spelling of a name, a number, a fault with its reason.
Open `names` first: one table of what people write for the catalogue's names. `number_grammar` reads printed numbers,
`protocol` has what a result needs to count, `plausibility` finds numbers that no disk made, `claim_conditions` is the
language in which claims say what would have to hold.
"""
