"""Set the options of PostgreSQL connections: of its planner, and time limits of requests."""

from typing import Any

# Lists end after a page, so a plan must find its first rows fast. A merge join reads both its sides from their first
# row. A random page costs little more than the next one on an SSD or in memory; with the default cost, the planner
# prefers to read a table from its first row until a filter matches (docs/scale.md).
PLANNER = {"random_page_cost": "1.1", "enable_mergejoin": "off"}


def open_with(database: dict[str, Any], **settings: str) -> None:
    """Make every connection of `database`, an entry of DATABASES, start with these settings of PostgreSQL.

    A pooler that shares connections between clients takes none; there the role has them (docs/deployment.md). Such a
    database is known by `disable_server_side_cursors=true` in its URL.
    """
    if database.get("DISABLE_SERVER_SIDE_CURSORS"):
        return
    options = database.setdefault("OPTIONS", {})
    parts = [options.get("options", ""), *(f"-c {name}={value}" for name, value in settings.items())]
    options["options"] = " ".join(filter(None, parts))


def limit_requests(databases: dict[str, dict[str, Any]], seconds: int) -> None:
    """Limit the time of statements of web requests; called before the processes of the server connect.

    Waiting for a lock is limited to two thirds of it, so that the error names the lock and not a slow query.
    """
    for database in databases.values():
        if database["ENGINE"] == "django.db.backends.postgresql":
            open_with(
                database,
                statement_timeout=f"{seconds}s",
                lock_timeout=f"{max(1, seconds * 2 // 3)}s",
                idle_in_transaction_session_timeout=f"{2 * seconds}s",
            )
