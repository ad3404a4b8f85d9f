"""Operate KDB: backups, checks of settings, health (status), metrics, logs of outages, and upgrades.

failures tells which part an exception blames; request_ids gives the log lines of one request a common id.
"""
