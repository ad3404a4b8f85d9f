"""Helpers of views, for pages and API alike: client addresses, rate limits, entity tags, htmx."""
