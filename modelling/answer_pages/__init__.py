"""Answers as pages and as data: of all entries, of some (comparison), under several workloads (mix).

In: a request. Out: HTML, JSON or CSV of an AnswerVersion. Open first: views.py for pages, api.py for data; compare.py
and mix.py are the other two pages, overview.py has the table of the first page. layout/ has what needs neither queries
nor HTML; explanations/ says why one entry stands above another.
"""
