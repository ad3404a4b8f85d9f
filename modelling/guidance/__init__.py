"""What makers advise on storage of virtual machines. It is no evidence of speed and enters no estimate.

In: fixtures/guidance*.csv, brought into the database by `loading`. Out: statements and contradictions (`content`) as
pages and API, and beside answers (`selectors.advised`). Open `matching` first: which advice bears on a question.
"""
