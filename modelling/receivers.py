"""What modelling does when the facts change."""

from django.dispatch import receiver

from experiments import jobs
from experiments.signals import knowledge_changed

from . import catalogue, quality_reports, services


@receiver(knowledge_changed)
def renew_what_depends(sender, case_study_ids: list[int], revision: int, **kwargs) -> None:
    """Summarise the new measurements and queue the answers they may change."""
    services.rebuild_arms(case_study_ids)
    catalogue.forget()
    touched = services.supersede_snapshots(case_study_ids, revision)
    if touched:
        jobs.enqueue("recompute_rankings", snapshot_ids=touched)
    quality_reports.renew()
