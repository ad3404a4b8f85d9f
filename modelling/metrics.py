"""Export metrics of the knowledge to Prometheus: its revision, and numbers of answers."""

from collections.abc import Iterable

from prometheus_client.core import GaugeMetricFamily

from kdb.operations import metrics
from modelling.evidence import counts


@metrics.reads
def knowledge() -> Iterable[GaugeMetricFamily]:
    from .answer_store import permalinks, snapshots  # slow to import

    state = snapshots.renewal_state()
    yield GaugeMetricFamily("kdb_revision", "Of the knowledge that is published.", value=counts.revision())
    yield GaugeMetricFamily(
        "kdb_answers_pinned", "Answers kept for good for visitors.", value=permalinks.count_visitors_pins()
    )
    yield GaugeMetricFamily("kdb_answers_waiting", "Questions that wait for their new answer.", value=state["waiting"])
