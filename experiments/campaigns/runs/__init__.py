"""One run of a campaign, from a clean machine to figures and back to a clean machine."""
