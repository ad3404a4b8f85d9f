import pytest

from experiments.models import Configuration
from tests import factories


@pytest.mark.django_db
def test_each_factory_makes_a_row_that_validates():
    case_study = factories.make_case_study()
    made = [
        factories.make_publication(),
        factories.make_storage(),
        case_study,
        factories.make_configuration(),
        factories.make_configuration(hypervisor=None, host_fs="xfs"),
        factories.make_variant("fileserver"),
        factories.make_measurement(120.0, case_study=case_study, guest_fs="xfs"),
        factories.make_measurement(hypervisor=None),
        factories.make_derived_value(case_study=case_study),
        factories.make_finding("worst", case_studies=[case_study]),
        factories.make_printed_ratio(case_study=case_study),
        factories.make_printed_ratio(numerator=None),
    ]
    for row in made:
        row.full_clean(exclude=_blank_by_choice(row))
    factories.make_claim()
    factories.make_job()


def _blank_by_choice(row) -> list[str]:
    """Text a factory leaves empty because no test reads it."""
    return [field.name for field in row._meta.fields if getattr(row, field.attname) in ("", [], {}) and not field.blank]


@pytest.mark.django_db
def test_measurements_of_one_pair_in_one_case_study_share_their_configuration():
    case_study = factories.make_case_study()
    factories.make_measurement(case_study=case_study, repetition=1)
    factories.make_measurement(case_study=case_study, repetition=2)
    factories.make_measurement(case_study=case_study, guest_fs="xfs")
    assert Configuration.objects.count() == 2
