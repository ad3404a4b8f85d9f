"""Decide who may do what to a case study, a host or a campaign. Pages, API and commands all ask here.

The user `None` is somebody at the server's command line, who may do everything. Roles are groups with permissions
(kdb.accounts.roles), which are combined here with the state and the owner of the case study.
"""

from django.conf import settings
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db.models import Q, QuerySet

from experiments.models import AuditEntry, Campaign, CaseStudy, Host

User = AbstractUser | AnonymousUser | None

Status = CaseStudy.Status
_REVIEW = [
    *(AuditEntry.Action.RETURNED, AuditEntry.Action.PUBLISHED, AuditEntry.Action.RETRACTED),
    *(AuditEntry.Action.SUPERSEDED, AuditEntry.Action.DOUBTED),
]


def may_create(user: User) -> bool:
    return user is None or user.has_perm("experiments.add_casestudy")


def may_see(user: User, case_study: CaseStudy) -> bool:
    """Tell whether the user may see it: everybody sees published ones, owners also drafts, reviewers submitted ones."""
    if user is None or case_study.status in CaseStudy.VISIBLE or _owns(user, case_study):
        return True
    return _administers(user) or (
        case_study.status == Status.SUBMITTED and user.has_perm("experiments.publish_casestudy")
    )


def seen_by(user: User) -> QuerySet[CaseStudy]:
    """Return every case study that the user may see; others answer as if they did not exist."""
    return CaseStudy.objects.filter(Q(status__in=CaseStudy.VISIBLE) | Q(pk__in=drafts_of(user)))


def may_edit(user: User, case_study: CaseStudy) -> bool:
    """Tell whether the user may import into it, change or delete it: owner and administrators, while it is a draft."""
    return case_study.status == Status.DRAFT and (user is None or _owns(user, case_study) or _administers(user))


def may_submit(user: User, case_study: CaseStudy) -> bool:
    return may_edit(user, case_study)


def may_return(user: User, case_study: CaseStudy) -> bool:
    """Tell whether the user may return it to its author: reviewers, and the author."""
    return case_study.status == Status.SUBMITTED and (
        user is None or _owns(user, case_study) or user.has_perm("experiments.publish_casestudy")
    )


def may_publish(user: User, case_study: CaseStudy) -> bool:
    """Tell whether the user is a reviewer, and not involved in it unless KDB_AUTHORS_MAY_PUBLISH allows that."""
    if case_study.status != Status.SUBMITTED or user is None:
        return case_study.status == Status.SUBMITTED
    return user.has_perm("experiments.publish_casestudy") and (
        settings.KDB_AUTHORS_MAY_PUBLISH or not is_involved(user, case_study)
    )


def is_involved(user: AbstractUser | AnonymousUser, case_study: CaseStudy) -> bool:
    """Tell whether the user owns the case study, or did more with it than review it, by its audit trail."""
    return (
        case_study.owner_id == user.pk
        or case_study.audit_entries.filter(actor=user.pk).exclude(action__in=_REVIEW).exists()
    )


def may_review(user: User) -> bool:
    """Tell whether the user may see submitted case studies and return them; publishing is asked of may_publish."""
    return user is None or user.has_perm("experiments.publish_casestudy")


def may_retract(user: User, case_study: CaseStudy) -> bool:
    return case_study.status == Status.PUBLISHED and (user is None or user.has_perm("experiments.retract_casestudy"))


def may_end(user: User, case_study: CaseStudy) -> bool:
    """Tell whether the user may end it as superseded or doubted: reviewers, and its author."""
    if case_study.status != Status.PUBLISHED or user is None:
        return case_study.status == Status.PUBLISHED
    return user.has_perm("experiments.retract_casestudy") or _owns(user, case_study)


def drafts_of(user: User) -> QuerySet[CaseStudy]:
    """Return the unpublished case studies that the user may see; the same rule as `may_see`, for lists."""
    unpublished = CaseStudy.objects.filter(status__in=[Status.DRAFT, Status.SUBMITTED])
    if user is None:
        return unpublished
    if not user.is_authenticated:
        return unpublished.none()
    if _administers(user):
        return unpublished
    theirs = Q(owner=user) if user.has_perm("experiments.add_casestudy") else Q(pk__in=[])
    if user.has_perm("experiments.publish_casestudy"):
        theirs |= Q(status=Status.SUBMITTED)
    return unpublished.filter(theirs)


def may_operate(user: User) -> bool:
    """Tell whether the user may register hosts, and plan campaigns on those of `hosts_visible_to`."""
    return user is None or user.has_perm("experiments.add_campaign")


def hosts_visible_to(user: User) -> QuerySet[Host]:
    """Return the hosts that the user may see, load, stop, and move machines on; others answer as if they did not exist.

    These are the hosts that they registered or are operators of, with their virtual machines; for administrators, all.
    """
    if may_use_any_key(user):
        return Host.objects.all()
    if user is None or not may_operate(user):
        return Host.objects.none()
    own = Host.objects.filter(Q(registered_by=user) | Q(operators=user), runs_on=None).values("pk")
    return Host.objects.filter(Q(pk__in=own) | Q(runs_on__in=own))


def may_use_host(user: User, host: Host) -> bool:
    return hosts_visible_to(user).filter(pk=host.pk).exists()


def may_change_host(user: User, host: Host) -> bool:
    """Tell whether the user may change a host, accept its key, choose its operators, stop all work there, or remove it.

    Those are whoever registered it or the host that it runs on, and administrators.
    """
    if user is None or user.has_perm("experiments.change_host"):
        return True
    is_theirs = may_operate(user) and host.registered_by_id == user.pk
    if host.runs_on is None:
        return is_theirs
    return may_change_host(user, host.runs_on) or (is_theirs and may_use_host(user, host))


def may_take_host(user: User, host: Host) -> bool:
    """Tell whether the user may become the owner of a host without one: administrators."""
    return host.registered_by_id is None and may_use_any_key(user)


def may_use_any_key(user: User) -> bool:
    """Tell whether the user may use a private key, or a machine, of another operator's host: administrators."""
    return user is None or user.has_perm("experiments.change_host")


def campaigns_visible_to(user: User) -> QuerySet[Campaign]:
    """Return the campaigns that the user may see, pause and cancel: those on hosts of theirs."""
    return Campaign.objects.filter(host__in=hosts_visible_to(user))


def may_steer(user: User, campaign: Campaign) -> bool:
    """Tell whether the user may start a campaign, retry its runs, add repetitions and file it.

    Those are whoever planned it and may still use its host, and administrators.
    """
    if user is None or user.has_perm("experiments.change_campaign"):
        return True
    return campaign.owner_id == user.pk and may_use_host(user, campaign.host)


def _owns(user: AbstractUser | AnonymousUser, case_study: CaseStudy) -> bool:
    return user.is_authenticated and case_study.owner_id == user.pk and user.has_perm("experiments.add_casestudy")


def _administers(user: AbstractUser | AnonymousUser) -> bool:
    return user.has_perm("experiments.change_casestudy")
