"""The pages of unpublished case studies: a person's drafts, their imports, and the steps to publication.

In come requests; out go pages. experiments.case_studies and experiments.imports do the work. Open views.py first.
"""
