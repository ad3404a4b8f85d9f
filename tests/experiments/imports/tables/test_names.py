"""The words of a published table: one table of names for all, each word told once, and every kind of name proposed."""

import pytest

from experiments.case_studies import lifecycle
from experiments.imports.tables import drafting
from experiments.imports.tables.conditions import read_conditions
from experiments.imports.tables.drafting import TableRefused, make_draft, read_table
from experiments.imports.tables.parsing import tables_in
from experiments.models import Configuration, ImportBatch
from modelling.evidence import names
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

TABLE = """\
| Storage    | read MB/s | write MB/s | seek MB/s |
|------------|-----------|------------|-----------|
| LVM-thin   | 100       | 90         | 3         |
| ZFS zvol   | 80        | 70         | 2         |
| Quokka SDS | 60        | 50         | 1         |
| Quokka SDS | 61        | 51         | 1.1       |
"""
CONDITIONS = """
[case_study]
slug = "quokka-storage"
title = "Storages"
procedure = "Five minutes each, three times."
[storage]
description = "Two SSDs"
[everywhere]
hypervisor = "Proxmox VE"
guest_access = "Raw device"
workload = "varmail"
benchmark = "filebench"
vm_count = 1
[columns]
"Storage" = "backend"
[values."read MB/s"]
unit = "MB/s"
operation = "read"
[values."write MB/s"]
unit = "MB/s"
operation = "write"
[values."seek MB/s"]
unit = "MB/s"
operation = "random-read"
"""
PROPOSED = """
[words.backend]
"Quokka SDS" = "quokka"
[[new]]
is_a = "host_storage"
slug = "quokka"
"""


@pytest.fixture(autouse=True)
def _catalogue(published_evidence):
    """The names that tables use."""


def test_a_word_that_is_not_known_is_told_once_and_not_for_each_number():
    (table,) = tables_in(TABLE.encode())
    (unknown,) = read_table(table, read_conditions(CONDITIONS.replace("varmail", "varmial") + PROPOSED)).faults
    assert (unknown.field, unknown.found) == ("workload", "varmial")
    (storage,) = read_table(table, read_conditions(CONDITIONS)).faults
    assert (storage.field, storage.found) == ("host storage", "Quokka SDS")

    (fault,) = read_table(table, read_conditions(CONDITIONS.replace('"Raw device"', '"sideways"') + PROPOSED)).faults
    assert (fault.field, fault.found, fault.line, fault.more) == ("guest_access", "sideways", 3, 3)
    assert str(fault).startswith("line 3 and 3 more, guest_access: found sideways, allowed is one of file-system")


def test_of_many_unknown_words_the_first_are_held_against_all_names(monkeypatch):
    compared = []
    monkeypatch.setattr(drafting, "get_close_matches", lambda name, *_: compared.append(name) or [])
    rows = "".join(f"| other {number} | 1 | 2 | 3 |\n" for number in range(200))
    (table,) = tables_in((TABLE + rows).encode())
    assert len(read_table(table, read_conditions(CONDITIONS + PROPOSED)).faults) == 200
    assert len(compared) == drafting.MAX_COMPARED


def test_a_host_storage_is_proposed_with_a_table_and_known_once_that_is_published():
    (table,) = tables_in(TABLE.encode())
    conditions = read_conditions(CONDITIONS + PROPOSED)
    user = make_user("researchers")

    draft = make_draft("t.md", TABLE.encode(), table, conditions, user=user, door=ImportBatch.Door.BROWSER)

    assert set(draft.configurations.values_list("backend", flat=True)) == {"lvm-thin", "zvol", "quokka"}
    assert "on quokka" in str(draft.configurations.get(backend="quokka"))
    names.clear_cache()
    assert names.slug_for("host_storage", "Quokka") is None  # a draft is nobody else's matter
    lifecycle.publish([draft], reason="Read over.")
    names.clear_cache()
    assert names.slug_for("host_storage", "Quokka") == "quokka"
    (other,) = tables_in(TABLE.replace("Quokka SDS", "QUOKKA").encode())
    assert not read_table(other, read_conditions(CONDITIONS)).faults


@pytest.mark.parametrize("slug", ["dir-quokka", "zfs", "lvm-thin", "Quokka", "quokka_sds"])
def test_a_host_storage_may_not_be_proposed_under_the_name_of_another(slug):
    (table,) = tables_in(TABLE.encode())
    conditions = read_conditions(CONDITIONS + PROPOSED.replace('"quokka"', f'"{slug}"'))

    with pytest.raises(TableRefused, match="new host storage"):
        make_draft("t.md", TABLE.encode(), table, conditions, user=None, door=ImportBatch.Door.BROWSER)
    assert not Configuration.objects.filter(case_study__slug="quokka-storage")
