"""Update what depends on evidence and other facts when these change.

Receivers import what they call, because pandas and scipy take a second to load, which commands that publish nothing
should not spend.
"""

from typing import Any

from django.conf import settings
from django.dispatch import receiver

from experiments.models import CaseStudy, Host
from experiments.signals import (
    claims_changed,
    host_stopped,
    knowledge_changed,
    publication_wanted,
    run_wanted,
)
from kdb.cost import deferral
from kdb.jobs import jobs
from kdb.notifications.models import Delivery
from kdb.signals import database_prepared, delivery_due, ticked, web_server_began

from .own_lab.signals import sitting_ended


@receiver(knowledge_changed)
def renew_derived_data(sender: Any, case_study_ids: list[int], revision: int, **kwargs: Any) -> None:
    """Summarise the new measurements and queue the answers they may change."""
    from .answer_store import releases, snapshots, standing
    from .answer_store.previews import effects, preview
    from .claims import verdicts
    from .evidence import choices, names, summaries
    from .prediction.validation import reports

    summaries.rebuild_arms(case_study_ids, revision)  # first: supersede reads from the arms which answers may change
    deferral.delete_all()
    names.clear_cache()
    choices.clear_cache()
    releases.forget()
    preview.delete_previews(case_study_ids)
    if snapshots.supersede(case_study_ids, revision):
        jobs.enqueue_once(snapshots.JOB)
    jobs.enqueue_once(standing.JOB)
    reports.KEPT.renew()
    verdicts.renew()
    effects.enqueue()


@receiver(database_prepared)
def load_bundled_data(sender: Any, **kwargs: Any) -> None:
    """Load the advice and standing answers of this release, so that the first visitor does not wait for them."""
    from .answer_store import standing
    from .evidence import summaries
    from .guidance import loading

    summaries.flag_implausible_arms()
    loading.load_bundled_advice()  # before the standing answers, which show it
    standing.load_shipped()


@receiver(web_server_began)
def answer_examples(sender: Any, **kwargs: Any) -> None:
    """Answer one of the first page's example questions, and enqueue the others.

    The data that one answer loads is then in memory before the process forks, so that all web processes share it.
    """
    from .answer_store import selectors, snapshots, standing
    from .evidence import dataframes

    most = settings.KDB_MOST_ARMS_AT_ONCE
    examples = [
        question
        for question in standing.examples()
        if not dataframes.workload_has_more_arms_than(most, question.workload)
    ]
    if examples:
        snapshots.compute_and_store(examples[0])
    kept = selectors.stored_answers(examples)
    if missing := [question for question in examples if question not in kept]:
        snapshots.enqueue_questions(*missing)


@receiver(claims_changed)
def judge_changed_claims(sender: Any, **kwargs: Any) -> None:
    from .claims import verdicts

    verdicts.recompute()


@receiver(publication_wanted)
def refuse_draft_without_answers(sender: Any, case_study: CaseStudy, **kwargs: Any) -> str:
    """Return which question would lose its answer by the draft; "" for none."""
    from .answer_store.previews import preview

    return preview.why_not_publish(case_study)


@receiver(run_wanted)
def wait_for_copies(sender: Any, host: Host, **kwargs: Any) -> str:
    """Return which copy of a disk a run has to wait for, because the copy would disturb it; "" for none."""
    from .fleet.moving import moves

    return moves.copy_under_way(host)


@receiver(host_stopped)
def stop_moves(sender: Any, host: Host, user: Any, asked_by: Any, **kwargs: Any) -> None:
    """Cancel the moves on a host, of one user or all, and turn off its policy if the user set it."""
    from .fleet.moving import approvals, moves, policies

    moves.call_all_off(host, user=user, asked_by=asked_by)
    if asked_by is None or asked_by == approvals.policy_author(host):
        policies.turn_off(host, user=user)


@receiver(sitting_ended)
def look_for_changes(sender: Any, **kwargs: Any) -> None:
    """Enqueue the test of the sitting's series for changes."""
    from .own_lab.changes import detection as changes

    jobs.enqueue_once(changes.JOB)


@receiver(delivery_due)
def refuse_delivery_to_others(sender: Any, delivery: Delivery, **kwargs: Any) -> str:
    """Return why a notification of a change is not delivered to its user; "" where it is."""
    from .own_lab.changes import selectors as changes

    return changes.why_not_deliver(delivery)


@receiver(ticked)
def recover_lost_work(sender: Any, **kwargs: Any) -> None:
    """Enqueue work that is due or was lost. Called on every tick."""
    from .answer_store import snapshots
    from .answer_store.previews import effects
    from .answer_store.subscriptions import followers
    from .claims import verdicts
    from .fleet.detection import persistence as detection
    from .fleet.moving import moves, outcomes, policies
    from .own_lab import visitors
    from .own_lab.changes import detection as changes
    from .prediction.validation import reports

    snapshots.reconcile()
    followers.reconcile()
    changes.reconcile()
    reports.KEPT.reconcile()
    verdicts.reconcile()
    effects.reconcile()
    detection.enqueue_due_jobs()
    moves.resume()
    policies.run_due()
    outcomes.enqueue_judging()
    visitors.delete_expired()
