"""Compute the answer to a question, and write it in sentences.

In: a Question, or a question and the shares of several workloads. Out: an Answer or a MixAnswer (content), whose
fields are those of the JSON. Open first: answer.py; estimate.py has its numbers, subset.py and mix.py its variants.
"""
