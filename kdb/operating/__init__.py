"""What whoever runs KDB needs: archives, metrics, and which request a line of the log belongs to."""
