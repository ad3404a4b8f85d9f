"""What is fuzzed, and what no input may bring about: targets, and their kept corpora in tests/data/fuzz.

script/fuzz makes inputs for it, test_corpus.py tries the kept ones.
"""
