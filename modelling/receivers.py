"""Work out anew what depends on facts that change.

What works it out is imported where it is called: with pandas and scipy it is a second of a processor, which commands
that publish nothing do without.
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
def renew_what_depends(sender: Any, case_study_ids: list[int], revision: int, **kwargs: Any) -> None:
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
def take_in_what_is_shipped(sender: Any, **kwargs: Any) -> None:
    """Bring what makers advise up to this release's files, then keep the standing answers that rest on it, so that the
    first visitor does not wait for them."""
    from .answer_store import standing
    from .evidence import summaries
    from .guidance import loading

    summaries.flag_implausible_arms()
    loading.load_bundled_advice()
    standing.load_shipped()


@receiver(web_server_began)
def answer_the_examples(sender: Any, **kwargs: Any) -> None:
    """Answer one of the questions that the first page offers, and have a worker answer the others.

    What one answer loads is in memory then before the process is forked, so all web processes share it.
    """
    from .answer_store import selectors, snapshots, standing
    from .evidence import dataframes

    most = settings.KDB_MOST_ARMS_AT_ONCE
    asked = [
        question
        for question in standing.examples()
        if not dataframes.workload_has_more_arms_than(most, question.workload)
    ]
    if asked:
        snapshots.compute_and_store(asked[0])
    kept = selectors.stored_answers(asked)
    if missing := [question for question in asked if question not in kept]:
        snapshots.enqueue_questions(*missing)


@receiver(claims_changed)
def judge_changed_claims(sender: Any, **kwargs: Any) -> None:
    from .claims import verdicts

    verdicts.recompute()


@receiver(publication_wanted)
def answer_with_the_draft(sender: Any, case_study: CaseStudy, **kwargs: Any) -> str:
    """Say which question would have no answer."""
    from .answer_store.previews import preview

    return preview.why_not_publish(case_study)


@receiver(run_wanted)
def let_copies_end_first(sender: Any, host: Host, **kwargs: Any) -> str:
    """Say which copy of a disk keeps a run waiting: begun beside it, the run would measure both."""
    from .fleet.moving import moves

    return moves.copy_under_way(host)


@receiver(host_stopped)
def stop_moves(sender: Any, host: Host, user: Any, asked_by: Any, **kwargs: Any) -> None:
    """Call off the moves on a host, somebody's or all; a policy of theirs makes no more."""
    from .fleet.moving import moves, policies

    moves.call_all_off(host, user=user, asked_by=asked_by)
    if asked_by is None or asked_by == policies.policy_author(host):
        policies.turn_off(host, user=user)


@receiver(sitting_ended)
def look_for_changes(sender: Any, **kwargs: Any) -> None:
    """Have the sitting's series tested once it is committed."""
    from .own_lab.changes import detection as changes

    jobs.enqueue_once(changes.JOB)


@receiver(delivery_due)
def tell_members_alone(sender: Any, delivery: Delivery, **kwargs: Any) -> str:
    """Say why somebody is not told of a change after all; "" where nothing is against it."""
    from .own_lab.changes import selectors as changes

    return changes.why_not_deliver(delivery)


@receiver(ticked)
def look_after_what_is_kept(sender: Any, **kwargs: Any) -> None:
    """Ask again for what a publication left to do, whatever message was lost."""
    from .answer_store import snapshots
    from .answer_store.previews import effects
    from .answer_store.subscriptions import followers
    from .claims import verdicts
    from .fleet.detection import persistence as detection
    from .fleet.moving import moves, outcomes, policies
    from .own_lab import visitors
    from .own_lab.changes import detection as changes
    from .prediction.validation import reports

    snapshots.look_after()
    followers.look_after()
    changes.look_after()
    reports.KEPT.look_after()
    verdicts.look_after()
    effects.look_after()
    detection.enqueue_due_jobs()
    moves.resume()
    policies.run_due()
    outcomes.enqueue_judging()
    visitors.delete_expired()
