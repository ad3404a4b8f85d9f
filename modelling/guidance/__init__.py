"""Show what makers advise on storage of virtual machines. It is no evidence of speed and enters no estimate.

`loading` reads fixtures/guidance*.csv into the database. Statements and contradictions (`content`) are shown on pages,
by the API, and with answers (`selectors.find_advice`). Read `matching` first: which advice applies to a question.
"""
