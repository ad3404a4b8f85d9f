"""The targets of fuzzing, which state what no input may bring about, and their kept corpora in tests/data/fuzz.

script/fuzz makes inputs for the targets, test_corpus.py tries the kept ones.
"""
