"""Define questions, and read the published evidence for them.

In: rows of experiments, summed up into arms (summaries). Out: a Question (question, forms, serialization) and the
DataFrames of arms and findings that it admits. Open first: question.py, axes.py, then dataframes.py.
"""
