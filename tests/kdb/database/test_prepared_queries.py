"""Queries whose SQL is written once."""

import pytest
from django.db.models import F

from experiments.models import FileSystem
from kdb.database.prepared_queries import PreparedQuery, in_pattern

pytestmark = [pytest.mark.both, pytest.mark.django_db]


@pytest.fixture
def systems():
    names = {"a": "One", "b": "50 % of_it\\", "c": "\ue0000\ue001"}
    return [FileSystem.objects.create(slug=slug, name=name) for slug, name in names.items()]


def test_it_gives_what_the_query_gives(systems):
    named = PreparedQuery(lambda name: FileSystem.objects.filter(name=name), 1)
    for system in systems:
        assert list(named.rows(system.name)) == [system]
    assert list(named.rows("none")) == []


def test_texts_in_patterns_stand_for_themselves(systems):
    having = PreparedQuery(lambda one, other: FileSystem.objects.filter(name__icontains=one).exclude(slug=other), 2)
    for text in ("%", "_", "\\", "50 % of_it\\", "o", "\ue000"):
        expected = FileSystem.objects.filter(name__icontains=text).exclude(slug="a")
        assert {row.slug for row in having.rows(in_pattern(text), "a")} == {row.slug for row in expected}


def test_what_is_left_out_is_read_when_it_is_looked_at(systems, django_assert_num_queries):
    query = PreparedQuery(lambda slug: FileSystem.objects.filter(slug=slug).annotate(also=F("name")).only("slug"), 1)
    with django_assert_num_queries(1):
        (row,) = query.rows("a")
        assert row.also == "One"
    with django_assert_num_queries(1):
        assert row.name == "One"


def test_its_sql_is_written_once(systems, sql_written):
    query = PreparedQuery(lambda slug: FileSystem.objects.filter(slug=slug), 1)
    list(query.rows("a"))
    assert len(sql_written) == 1
    list(query.rows("b"))
    assert len(sql_written) == 1
