"""Who may do what by the API: every private operation, in the name of every role, with the status that is expected.

401: sign in; 403: not yours to do; 404: as if it were not there; 409 and 422: may be done, but not as things stand.
"""

import pytest
from django.urls import get_resolver

from experiments.models import CaseStudy, KnowledgeRevision
from kdb.accounts.token_scopes import SCOPES
from kdb.models import ApiToken
from tests.factories import make_token, revision

from .laboratory import ask, make_laboratory, operations

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]

BOUND = {"laboratory": "our-lab"}  # a token with the scope measure
ROLES = ("anonymous", "nobody", "owner", "researcher", "reviewer", "operator", "member", "colleague", "administrator")
UNBOUND = set(ApiToken.Scope.values) - {"measure"}  # which no other scope goes with
STATES = {
    **{"drafts_publish": "submitted", "drafts_return": "submitted"},
    **{"case_studies_retract": "published", "case_studies_end": "published"},
}
TABLE = {  # the scope that a token needs, or one of several; the statuses, in the order of ROLES
    "campaign_outputs_content": "read 401 403 403 403 403 200 200 404 200",
    "campaigns_bring_back": "campaign 401 403 403 403 403 200 403 404 200",
    "campaigns_cancel": "campaign 401 403 403 403 403 200 200 404 200",
    "campaigns_create": "campaign 401 403 403 403 403 201 201 400 201",
    "campaigns_draft": "campaign 401 403 403 403 403 409 403 404 409",
    "campaigns_estimate": "campaign 401 403 403 403 403 200 200 400 200",
    "campaigns_replicate": "campaign 401 403 403 403 403 409 409 400 409",
    "campaigns_study": "campaign 401 403 403 403 403 200 200 400 200",
    "campaigns_list": "read 401 403 403 403 403 200 200 200 200",
    "campaigns_pause": "campaign 401 403 403 403 403 409 409 404 409",
    "campaigns_removal": "read 401 403 403 403 403 200 403 404 200",
    "campaigns_remove": "campaign 401 403 403 403 403 409 403 404 409",
    "campaigns_retrieve": "read 401 403 403 403 403 200 200 404 200",
    "campaigns_retry": "campaign 401 403 403 403 403 409 403 404 409",
    "campaigns_plan": "read 401 403 403 403 403 200 200 404 200",
    "campaigns_deviations": "read 401 403 403 403 403 200 200 404 200",
    "campaigns_retry_cell": "campaign 401 403 403 403 403 409 403 404 409",
    "campaigns_runs": "read 401 403 403 403 403 200 200 404 200",
    "campaigns_start": "campaign 401 403 403 403 403 200 403 404 200",
    "campaigns_nightly": "campaign 401 403 403 403 403 200 403 404 200",
    "campaigns_top_up": "campaign 401 403 403 403 403 200 403 404 200",
    "case_studies_end": "review 401 403 200 403 200 403 403 403 200",
    "case_studies_retract": "review 401 403 403 403 200 403 403 403 200",
    "drafts_create": "import 401 403 201 201 403 201 201 201 201",
    "drafts_delete": "delete 401 404 204 404 404 404 404 404 204",
    "drafts_list": "read 401 200 200 200 200 200 200 200 200",
    "drafts_measurements_create": "import 401 404 201 404 404 404 404 404 201",
    "drafts_preview": "read 401 404 200 404 404 404 404 404 200",
    "drafts_preview_create": "import 401 404 202 404 404 404 404 404 202",
    "drafts_publish": "review 401 404 403 404 200 404 404 404 200",
    "drafts_retrieve": "read 401 404 200 404 404 404 404 404 200",
    "drafts_return": "import 401 404 200 404 200 404 404 404 200",
    "drafts_submit": "import 401 404 200 404 404 404 404 404 200",
    "drafts_update": "import 401 404 200 404 404 404 404 404 200",
    "detection_model": "read 401 403 403 403 403 200 200 200 200",
    "followed_questions_create": "notify 401 400 400 400 400 400 400 400 400",
    "followed_questions_delete": "notify 401 404 204 404 404 404 404 404 404",
    "followed_questions_list": "notify 401 200 200 200 200 200 200 200 200",
    "hosts_accept_key": "campaign 401 403 403 403 403 202 403 404 202",
    "hosts_bring_back": "campaign 401 403 403 403 403 200 403 404 200",
    "hosts_check": "campaign 401 403 403 403 403 202 202 404 202",
    "hosts_clear": "campaign 401 403 403 403 403 202 202 404 202",
    "hosts_contact": "campaign 401 403 403 403 403 202 403 404 202",
    "hosts_create": "campaign 401 403 403 403 403 201 201 201 201",
    "hosts_statement": "campaign 401 403 403 403 403 200 403 404 200",
    "hosts_list": "read 401 403 403 403 403 200 200 200 200",
    "hosts_removal": "read 401 403 403 403 403 200 403 404 200",
    "hosts_remove": "campaign 401 403 403 403 403 200 403 404 200",
    "hosts_operators": "campaign 401 403 403 403 403 200 403 404 200",
    "hosts_stop": "campaign 401 403 403 403 403 200 403 404 200",
    "hosts_take": "campaign 401 403 403 403 403 403 403 404 403",
    "hosts_retrieve": "read 401 403 403 403 403 200 200 404 200",
    "hosts_runner_token": "campaign 401 403 403 403 403 409 403 404 409",
    "runner_answer": "runner 401 403 403 403 403 403 403 403 403",
    "runner_lease": "runner 401 403 403 403 403 403 403 403 403",
    "runner_scripts": "runner 401 403 403 403 403 403 403 403 403",
    "imports_confirm": "import 401 404 409 404 404 404 404 404 409",
    "imports_correct": "import 401 404 409 404 404 404 404 404 409",
    "imports_create": "import 401 404 202 404 404 404 404 404 202",
    "freeze_end": "campaign 401 403 403 403 403 403 403 403 409",
    "freeze_retrieve": "read 401 403 403 403 403 200 200 200 200",
    "freeze_set": "campaign 401 403 403 403 403 403 403 403 200",
    "imports_discard": "import 401 404 204 404 404 404 404 404 204",
    "imports_list": "read 401 200 200 200 200 200 200 200 200",
    "imports_read": "import 401 404 409 404 404 404 404 404 409",
    "imports_retrieve": "read 401 404 200 404 404 404 404 404 200",
    "notifications_create": "notify 401 201 201 201 201 201 201 201 201",
    "notifications_delete": "notify 401 404 204 404 404 404 404 404 404",
    "notifications_deliveries": "notify 401 404 200 404 404 404 404 404 404",
    "notifications_list": "notify 401 200 200 200 200 200 200 200 200",
    "notifications_retrieve": "notify 401 404 200 404 404 404 404 404 404",
    "notifications_test": "notify 401 404 202 404 404 404 404 404 404",
    "notifications_update": "notify 401 404 200 404 404 404 404 404 404",
    "observed_hosts_list": "read 401 403 403 403 403 200 200 200 200",
    "observed_hosts_removal": "read 401 403 403 403 403 200 403 404 200",
    "observed_hosts_remove": "campaign 401 403 403 403 403 200 403 404 200",
    "observed_hosts_retrieve": "read 401 403 403 403 403 200 200 404 200",
    "observed_hosts_turn_off": "campaign 401 403 403 403 403 200 200 404 200",
    "observed_hosts_turn_on": "campaign 401 403 403 403 403 200 200 404 200",
    "observed_machines_change": "campaign 401 403 403 403 403 200 200 404 200",
    "observed_machines_list": "read 401 403 403 403 403 200 200 200 200",
    "observed_machines_mix": "read 401 403 403 403 403 200 200 404 200",
    "observed_machines_retrieve": "read 401 403 403 403 403 200 200 404 200",
    "observed_machines_statistics": "read 401 403 403 403 403 200 200 404 200",
    "observed_pools_change": "campaign 401 403 403 403 403 200 200 404 200",
    "observed_pools_list": "read 401 403 403 403 403 200 200 200 200",
    "observed_pools_retrieve": "read 401 403 403 403 403 200 200 404 200",
    "placement_audit_trail": "read 401 403 403 403 403 200 200 200 200",
    "placement_mix_update": "campaign 401 403 403 403 403 200 200 404 200",
    "placement_moves_approve": "campaign 401 403 403 403 403 409 409 404 409",
    "placement_moves_back": "campaign 401 403 403 403 403 200 200 404 200",
    "placement_moves_call_off": "campaign 401 403 403 403 403 409 409 404 409",
    "placement_moves_create": "campaign 401 403 403 403 403 400 400 400 400",
    "placement_moves_empty": "campaign 401 403 403 403 403 400 400 400 400",
    "placement_moves_list": "read 401 403 403 403 403 200 200 200 200",
    "placement_moves_remove_old": "campaign 401 403 403 403 403 200 200 404 200",
    "placement_moves_retrieve": "read 401 403 403 403 403 200 200 404 200",
    "placement_plans_confirm": "campaign 401 403 403 403 403 409 409 404 409",
    "placement_plans_create": "campaign 401 403 403 403 403 400 400 400 400",
    "placement_plans_list": "read 401 403 403 403 403 200 200 200 200",
    "placement_plans_retrieve": "read 401 403 403 403 403 200 200 404 200",
    "placement_policy_retrieve": "read 401 403 403 403 403 200 200 404 200",
    "placement_policy_update": "campaign 401 403 403 403 403 200 200 404 200",
    "laboratories_create": "laboratory 401 409 409 409 409 409 409 409 409",
    "laboratories_list": "read 401 200 200 200 200 200 200 200 200",
    "laboratories_members": "laboratory 401 404 409 404 404 404 404 404 404",
    "laboratories_remove": "laboratory 401 404 204 404 404 404 404 404 404",
    "laboratories_remove_member": "laboratory 401 404 409 404 404 404 404 404 404",
    "laboratories_retrieve": "read 401 404 200 404 404 404 404 404 404",
    "series_list": "read 401 404 200 404 404 404 404 404 404",
    "series_retrieve": "read 401 404 200 404 404 404 404 404 404",
    "series_changes_causes": "read 401 404 200 404 404 404 404 404 404",
    "series_changes_handle": "laboratory 401 404 200 404 404 404 404 404 404",
    "series_changes_list": "read 401 200 200 200 200 200 200 200 200",
    "series_changes_retrieve": "read 401 404 200 404 404 404 404 404 404",
    "series_add_night": "measure|import 401 404 201 404 404 404 404 404 404",
    "sittings_create": "measure|import 401 400 201 400 400 400 400 400 400",
    "sittings_list": "read 401 200 200 200 200 200 200 200 200",
    "sittings_remove": "laboratory 401 404 204 404 404 404 404 404 404",
    "sittings_report": "measure|import 401 404 200 404 404 404 404 404 404",
    "sittings_retrieve": "read|measure 401 404 200 404 404 404 404 404 404",
    "sittings_share": "import 401 404 409 404 404 404 404 404 404",
    "published_tables_create": "import 401 403 201 201 403 201 201 201 201",
    "raw_files_content": "read 404 404 200 404 404 404 404 404 200",
}


@pytest.fixture
def laboratory():
    return make_laboratory()


def in_state(name: str) -> None:
    """Let the draft be what the operation needs."""
    state = STATES.get(name, "draft")
    published = KnowledgeRevision.objects.filter(number=1).first() or revision(1)
    CaseStudy.objects.update(status=state, published_revision=published if state == "published" else None)


def keys_of(users, scopes):
    """Return a token of each role, with these scopes."""
    return {
        role: make_token(user, tuple(scopes), **(BOUND if "measure" in scopes else {})) for role, user in users.items()
    }


def test_each_role_gets_what_the_table_says_by_a_token_of_the_one_scope_that_is_needed(laboratory):
    users, names = laboratory
    keys = {scope: keys_of(users, [scope]) for scope in ApiToken.Scope.values}
    wrong = {}
    for name, row in TABLE.items():
        scopes, expected = row.split(" ", 1)
        for scope in scopes.split("|"):
            in_state(name)
            statuses = " ".join(str(ask(name, names, keys[scope].get(role)).status_code) for role in ROLES)
            if statuses != expected:
                wrong[name, scope] = (statuses, expected)
    assert not wrong


def test_no_role_gets_anything_by_a_token_that_has_every_scope_but_the_needed_one(laboratory):
    users, names = laboratory
    needed = {row.split()[0] for row in TABLE.values()}
    others = {scopes: UNBOUND - {*scopes.split("|")} for scopes in needed}
    keys = {scopes: [keys_of(users, others[scopes])] for scopes in needed}
    for scopes in needed:
        keys[scopes] += [] if "measure" in scopes else [keys_of(users, ["measure"])]
    wrong = []
    for name, row in TABLE.items():
        scopes = row.split()[0]
        in_state(name)
        for role, key in [(role, key) for roles in keys[scopes] for role, key in roles.items()]:
            answer = ask(name, names, key)
            if answer.status_code != 403 or f"the scope {scopes.replace('|', ' or ')}" not in answer.json()["detail"]:
                wrong.append((name, role, answer.status_code))
    assert not wrong


def test_no_other_method_does_anything_at_any_address_of_the_api(laboratory):
    users, names = laboratory
    keys = [
        None,
        make_token(users["owner"], tuple(UNBOUND)),
        make_token(users["administrator"], tuple(UNBOUND)),
    ]
    there: dict[str, set[str]] = {}
    for method, path in operations().values():
        there.setdefault(path, set()).add(method)
    wrong = []
    for path, methods in there.items():
        for method in {"delete", "patch", "post", "put"} - methods:
            for key in keys:
                status = ask(path, names, key, method=method).status_code
                if status not in (401, 403, 404, 405):
                    wrong.append((method, path, status))
    assert not wrong


def test_the_table_is_complete():
    private = {name for name, (_, path) in operations(private=True).items()}
    assert TABLE.keys() == private | {"raw_files_content"}  # everybody's too, once it is published


def test_an_address_asks_for_a_scope_or_is_everybodys():
    views = {
        pattern.name: pattern.callback
        for pattern in patterns(get_resolver())
        if hasattr(getattr(pattern.callback, "cls", None), "authentication_classes")
    }
    asks = {name for name, view in views.items() if view.cls.authentication_classes}
    assert asks == SCOPES.keys()
    for name, (reading, writing) in SCOPES.items():
        cls, actions = views[name].cls, getattr(views[name], "actions", None)
        methods = set(actions or [m for m in cls.http_method_names if hasattr(cls, m)]) - {"options", "head"}
        assert (reading is not None, writing is not None) == ("get" in methods, bool(methods - {"get"})), name


def patterns(resolver):
    for pattern in resolver.url_patterns:
        yield from patterns(pattern) if hasattr(pattern, "url_patterns") else [pattern]
