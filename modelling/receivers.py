"""What modelling does when the facts change."""

from django.dispatch import receiver

from experiments import jobs
from experiments.signals import claims_changed, knowledge_changed

from . import catalogue, claim_verdicts, previews, quality_reports, services


@receiver(knowledge_changed)
def renew_what_depends(sender, case_study_ids: list[int], revision: int, **kwargs) -> None:
    """Summarise the new measurements and queue the answers they may change."""
    services.rebuild_arms(case_study_ids)
    catalogue.forget()
    previews.forget(case_study_ids)
    touched = services.supersede_snapshots(case_study_ids, revision)
    if touched:
        jobs.enqueue("recompute_rankings", snapshot_ids=touched)
    quality_reports.renew()
    claim_verdicts.renew()


@receiver(claims_changed)
def judge_changed_claims(sender, **kwargs) -> None:
    claim_verdicts.recompute()
