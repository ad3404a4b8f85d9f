"""Slugs that stand in addresses beside pages: no case study, host or campaign hides behind one."""

import pytest
from django.core.exceptions import ValidationError
from django.urls import get_resolver, reverse

from experiments.models import Campaign, CaseStudy, Host
from experiments.rules import entry_names
from tests.factories import make_case_study, make_host, make_token, make_user

pytestmark = [pytest.mark.both, pytest.mark.django_db]


@pytest.mark.parametrize("model", [CaseStudy, Host, Campaign])
@pytest.mark.parametrize("slug", entry_names.PAGES)
def test_a_slug_that_is_a_page_is_refused_with_a_sentence(model, slug):
    with pytest.raises(ValidationError) as refused:
        model(slug=slug).full_clean()
    assert f"'{slug}' is a word of the addresses here, as are new, bundle." in refused.value.message_dict["slug"]


@pytest.mark.parametrize("slug", entry_names.PAGES)
def test_the_door_of_programs_refuses_such_a_draft_by_field(client, slug):
    headers = {"authorization": f"Bearer {make_token(make_user('researchers'), ['read', 'import'])}"}
    body = {"slug": slug, "title": "A study", "storage": {"description": "disk"}}
    answer = client.post("/api/v1/drafts/", body, "application/json", headers=headers)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == ["slug"]
    assert not CaseStudy.objects.exists()


@pytest.mark.parametrize("name", ["draft-detail", "host-detail", "campaign-detail", "case-study-detail"])
def test_every_page_beside_a_slug_is_among_the_words(name):
    """A page that is added beside these addresses must be added to the words, or this fails."""
    before = reverse(name, args=["x"]).removesuffix("x/")
    taken = {
        path.removeprefix(before.lstrip("/")).rstrip("/")
        for path in (str(pattern.pattern) for pattern in _patterns(get_resolver().url_patterns))
        if path.startswith(before.lstrip("/")) and "<" not in path
    }
    assert {word for word in taken if word and "/" not in word} <= set(entry_names.PAGES)


def _patterns(patterns):
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            if str(pattern.pattern) == "":
                yield from _patterns(pattern.url_patterns)
        else:
            yield pattern


def test_other_slugs_stay_as_they_were():
    make_host("newton").full_clean(exclude=["laboratory"])
    make_case_study("bundle-2").full_clean()
