"""Conventions of pages and API alike: addresses, limits, entity tags, htmx."""
