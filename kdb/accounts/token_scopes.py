"""Map each URL name to the scopes that open it to a token, which TokenAuthentication checks before any view runs.

URLs that are not listed are closed to tokens. Public views need no entry, as they do not authenticate.
"""

from rest_framework.permissions import SAFE_METHODS

from kdb.models import ApiToken

Scope = ApiToken.Scope
READ, IMPORT, REVIEW, CAMPAIGN, NOTIFY = Scope.READ, Scope.IMPORT, Scope.REVIEW, Scope.CAMPAIGN, Scope.NOTIFY
RUNNER, LABORATORY, MEASURE = Scope.RUNNER, Scope.LABORATORY, Scope.MEASURE
AnyOf = Scope | tuple[Scope, ...] | None

# URL name: the scope to read, and the scope for every other method. A tuple: any one of them. None: no token may.
SCOPES: dict[str, tuple[AnyOf, AnyOf]] = {
    "metrics": (READ, None),
    "raw-file-content": (READ, None),
    "draft-list": (READ, IMPORT),
    "draft-detail": (READ, IMPORT),
    "draft-measurements": (None, IMPORT),
    "draft-submit": (None, IMPORT),
    "draft-give-back": (None, IMPORT),
    "draft-publish": (None, REVIEW),
    "publication-preview": (READ, IMPORT),
    "case-study-retract": (None, REVIEW),
    "case-study-end": (None, REVIEW),
    "import-list": (READ, IMPORT),
    "published-table-list": (None, IMPORT),
    "import-detail": (READ, IMPORT),
    "import-confirm": (None, IMPORT),
    "import-read": (None, IMPORT),
    "host-list": (READ, CAMPAIGN),
    "host-detail": (READ, None),
    "host-accept-key": (None, CAMPAIGN),
    "host-bring-back": (None, CAMPAIGN),
    "host-check": (None, CAMPAIGN),
    "host-clear": (None, CAMPAIGN),
    "host-contact": (None, CAMPAIGN),
    "host-removal": (READ, CAMPAIGN),
    "host-statement": (None, CAMPAIGN),
    "host-runner-token": (None, CAMPAIGN),
    "host-take": (None, CAMPAIGN),
    "host-operators": (None, CAMPAIGN),
    "host-stop": (None, CAMPAIGN),
    "freeze": (READ, CAMPAIGN),
    "audit-trail": (READ, None),
    "runner-scripts": (RUNNER, None),
    "runner-lease": (None, RUNNER),
    "runner-answer": (None, RUNNER),
    "campaign-list": (READ, CAMPAIGN),
    "campaign-detail": (READ, None),
    "campaign-estimate": (None, CAMPAIGN),
    "campaign-replicate": (None, CAMPAIGN),
    "campaign-study": (None, CAMPAIGN),
    "campaign-bring-back": (None, CAMPAIGN),
    "campaign-cancel": (None, CAMPAIGN),
    "campaign-deviations": (READ, None),
    "campaign-draft": (None, CAMPAIGN),
    "campaign-output-content": (READ, None),
    "campaign-pause": (None, CAMPAIGN),
    "campaign-plan": (READ, None),
    "campaign-removal": (READ, CAMPAIGN),
    "campaign-retry": (None, CAMPAIGN),
    "campaign-retry-cell": (None, CAMPAIGN),
    "campaign-runs": (READ, None),
    "campaign-start": (None, CAMPAIGN),
    "campaign-top-up": (None, CAMPAIGN),
    "campaign-nightly": (None, CAMPAIGN),
    "detection-model": (READ, None),
    "observed-host-list": (READ, None),
    "observed-host-detail": (READ, None),
    "observed-host-removal": (READ, CAMPAIGN),
    "observed-host-turn-off": (None, CAMPAIGN),
    "observed-host-turn-on": (None, CAMPAIGN),
    "observed-machine-list": (READ, None),
    "observed-machine-detail": (READ, CAMPAIGN),
    "observed-machine-mix": (READ, None),
    "observed-machine-statistics": (READ, None),
    "observed-pool-list": (READ, None),
    "observed-pool-detail": (READ, CAMPAIGN),
    "placement-mix": (None, CAMPAIGN),
    "placement-move-list": (READ, CAMPAIGN),
    "placement-move-detail": (READ, None),
    "placement-move-approve": (None, CAMPAIGN),
    "placement-move-back": (None, CAMPAIGN),
    "placement-move-call-off": (None, CAMPAIGN),
    "placement-move-empty": (None, CAMPAIGN),
    "placement-move-remove-old": (None, CAMPAIGN),
    "placement-plan-list": (READ, CAMPAIGN),
    "placement-plan-detail": (READ, None),
    "placement-plan-confirm": (None, CAMPAIGN),
    "placement-policy": (READ, CAMPAIGN),
    "followed-question-list": (NOTIFY, NOTIFY),
    "followed-question-detail": (None, NOTIFY),
    "notification-list": (NOTIFY, NOTIFY),
    "notification-detail": (NOTIFY, NOTIFY),
    "notification-deliveries": (NOTIFY, None),
    "notification-test": (None, NOTIFY),
    "laboratory-list": (READ, LABORATORY),
    "laboratory-detail": (READ, LABORATORY),
    "laboratory-members": (None, LABORATORY),
    "laboratory-member": (None, LABORATORY),
    # Only asked with the parameter of a laboratory; without it they are public.
    **dict.fromkeys(("ranking", "comparison", "mix"), (READ, None)),
    "sitting-list": (READ, (MEASURE, IMPORT)),
    "sitting-detail": ((READ, MEASURE), LABORATORY),
    "sitting-runs": (None, (MEASURE, IMPORT)),
    "sitting-share": (None, IMPORT),
    "series-list": (READ, (MEASURE, IMPORT)),
    "series-detail": (READ, None),
    "series-change-list": (READ, None),
    "series-change-detail": (READ, None),
    "series-change-causes": (READ, None),
    "series-change-handle": (None, LABORATORY),
}
TO_DELETE: dict[str, Scope] = {"draft-detail": Scope.DELETE}  # where DELETE needs another scope than other changes


def required_scopes(name: str | None, method: str | None) -> tuple[Scope, ...]:
    """Return the scopes of which a token needs one for the URL of this name; empty where no token is accepted."""
    reading, writing = SCOPES.get(name or "", (None, None))
    if method == "DELETE":
        writing = TO_DELETE.get(name or "", writing)
    scopes = reading if method in SAFE_METHODS else writing
    return () if scopes is None else (scopes,) if isinstance(scopes, Scope) else scopes
