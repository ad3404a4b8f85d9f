"""Keeps what is asked of hosts that no worker can reach until their own runners come for it."""
