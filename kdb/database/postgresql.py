"""Open PostgreSQL: say what its planner is told, and how long a request may keep it busy."""

from typing import Any

# Lists end after a page, so what counts is where a plan begins. A merge join begins at the beginning of both its sides,
# and a page far away for the planner is not far on an SSD or in memory: with its defaults it walks a table from its
# first row to where a filter's first hit is (docs/scale.md).
PLANNER = {"random_page_cost": "1.1", "enable_mergejoin": "off"}


def open_with(database: dict[str, Any], **settings: str) -> None:
    """Have every connection of `database`, Django's settings of one, begin with these settings of PostgreSQL.

    A pooler that hands connections from one client to the next takes no settings from them: there the role has them
    (docs/deployment.md). Such a database says so by `disable_server_side_cursors=true` in its address.
    """
    if database.get("DISABLE_SERVER_SIDE_CURSORS"):
        return
    options = database.setdefault("OPTIONS", {})
    parts = [options.get("options", ""), *(f"-c {name}={value}" for name, value in settings.items())]
    options["options"] = " ".join(filter(None, parts))


def limit_requests(databases: dict[str, dict[str, Any]], seconds: int) -> None:
    """Let nothing keep a web request for longer; called before the processes of the server connect. Locks come in two
    thirds of that, so that whoever waits for another is told so, and not that he asked for too much."""
    for database in databases.values():
        if database["ENGINE"] == "django.db.backends.postgresql":
            open_with(
                database,
                statement_timeout=f"{seconds}s",
                lock_timeout=f"{max(1, seconds * 2 // 3)}s",
                idle_in_transaction_session_timeout=f"{2 * seconds}s",
            )
