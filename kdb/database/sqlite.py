"""Options of SQLite by which readers do not wait for the writer, and writers wait for each other instead of failing."""

# Up to 64 threads of the web server have a connection each, with a cache of its own. Pages are read by the memory
# mapping, which all share, so the cache need only hold what a transaction writes.
SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=134217728; PRAGMA cache_size=-8192;"
    ),
}
