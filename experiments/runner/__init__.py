"""Queues commands for hosts that no worker can reach; a runner on each host polls for them."""
