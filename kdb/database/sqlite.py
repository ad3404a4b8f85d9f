"""Open SQLite so that readers never wait for the writer, and writers queue up instead of failing."""

# The cache is each connection's own, and up to 64 threads of the web server keep one. Pages are read by the mapping,
# which all share, so the cache holds little more than what a transaction writes.
SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=134217728; PRAGMA cache_size=-8192;"
    ),
}
