"""Published tables, of papers and web pages, into draft case studies.

In come a table as it was printed (parsing.py) and the conditions said beside it (conditions.py); out goes a draft
(drafting.py), or everything that is wrong. conversion.py turns the two into rows of the template, suggestions.py says
what headings seem to mean. The pages (views.py, wizard.py, forms.py) ask for the conditions step by step.
"""
