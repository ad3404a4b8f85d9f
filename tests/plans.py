"""The rows that a query reads, by the database's own account of it, and not by the clock."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from kdb.database.postgresql import PLANNER


def as_in_use() -> None:
    """Set the planner for this transaction as KDB opens PostgreSQL; the tests' server has other settings."""
    with connection.cursor() as cursor:
        for name, value in {"enable_nestloop": "on", **PLANNER}.items():
            cursor.execute(f"SET LOCAL {name} = {value}")


def rows_read(statement: str) -> Counter[str]:
    """Return the rows that PostgreSQL reads to answer, by table: those it throws away again included."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}")
        plan = cursor.fetchone()[0][0]["Plan"]
    rows: Counter[str] = Counter()
    for node in _nodes(plan):
        if "Relation Name" in node:
            removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
            rows[node["Relation Name"]] += round(node["Actual Loops"] * (node["Actual Rows"] + removed))
    return rows


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for part in node.get("Plans", ()):
        yield from _nodes(part)


def of_all(queries: CaptureQueriesContext) -> Counter[str]:
    """Return the rows that all captured SELECTs read together."""
    selects = (query["sql"] for query in queries.captured_queries if query["sql"].startswith("SELECT"))
    return sum(map(rows_read, selects), Counter())
