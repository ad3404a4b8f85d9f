"""Import published tables of papers and web pages into draft case studies.

The input is a table as it was published (parsing.py) and a file of its conditions (conditions.py); the output is a
draft (drafting.py) or a list of all faults. conversion.py makes rows of the template from the two, suggestions.py
guesses what headings mean. The pages (views.py, wizard.py, forms.py) ask for the conditions step by step.
"""
