"""Metrics of campaigns and imports for Prometheus."""

from collections.abc import Iterable

from django.db.models import Count
from prometheus_client.core import GaugeMetricFamily

from experiments.models import CampaignRun, ImportBatch
from kdb.operations import metrics


@metrics.reads
def runs_and_imports() -> Iterable[GaugeMetricFamily]:
    for name, description, rows in (
        ("kdb_campaign_runs", "Runs of campaigns by state.", CampaignRun.objects),
        ("kdb_imports", "Imports by state.", ImportBatch.objects),
    ):
        family = GaugeMetricFamily(name, description, labels=["state"])
        for state, count in rows.order_by().values_list("state").annotate(Count("pk")):
            family.add_metric([state], count)
        yield family
