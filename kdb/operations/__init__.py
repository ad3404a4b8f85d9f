"""Tools for whoever runs KDB: archives, checks, health, metrics, and which request a line of the log belongs to."""
