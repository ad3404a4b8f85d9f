"""What modelling does when the facts change."""

from django.dispatch import receiver

from experiments import jobs
from experiments.signals import claims_changed, knowledge_changed, ticked

from . import catalogue, claim_verdicts, previews, quality_reports, services, snapshots


@receiver(knowledge_changed)
def renew_what_depends(sender, case_study_ids: list[int], revision: int, **kwargs) -> None:
    """Summarise the new measurements and queue the answers they may change."""
    services.rebuild_arms(case_study_ids)
    catalogue.forget()
    previews.forget(case_study_ids)
    if snapshots.supersede(case_study_ids, revision):
        jobs.enqueue_once(snapshots.JOB)
    quality_reports.renew()
    claim_verdicts.renew()


@receiver(claims_changed)
def judge_changed_claims(sender, **kwargs) -> None:
    claim_verdicts.recompute()


@receiver(ticked)
def look_after_what_is_kept(sender, **kwargs) -> None:
    """Whatever was lost: what a publication left behind is found and asked for again."""
    snapshots.look_after()
    quality_reports.look_after()
    claim_verdicts.look_after()
