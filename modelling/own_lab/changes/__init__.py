"""Series that a laboratory measures again and again, and the changes that are found in them.

In: ended sittings (modelling.own_lab), read by `gather`. Out: suspicions and confirmed changes with causes, on pages
and in API and feed. Open `detection` first: it tests each new point (`statistics`) and confirms by reruns.
"""
