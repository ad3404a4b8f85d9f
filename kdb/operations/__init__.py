"""What whoever runs KDB needs: backups, checks of settings, health (status), metrics, outages and upgrades.

failures tells which part is at fault for an exception; request_ids joins the lines of the log that belong together.
"""
