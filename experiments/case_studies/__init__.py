"""Case studies: from draft to publication (lifecycle.py, reviews.py) and to their end (retraction.py).

Their pages (pages.py, numbers.py), what came with them alone (ownership.py), and the bundle in which one travels
(bundles.py). Open lifecycle.py first.
"""
