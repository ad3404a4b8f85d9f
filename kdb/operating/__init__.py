"""Tools for whoever runs KDB: archives, metrics, and which request a line of the log belongs to."""
