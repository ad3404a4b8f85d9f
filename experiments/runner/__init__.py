"""Hosts that no worker can reach: what is asked of them waits here until their own runner comes for it."""
