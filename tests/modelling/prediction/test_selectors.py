"""Forecasts of two entries, as comparisons and mixes ask for them."""

import pytest

from modelling.prediction import selectors
from tests.factories import make_case_study, make_configuration, make_measurement, publish

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

LVM, ZVOL, RBD = ({"backend": backend} for backend in ("lvm-thin", "zvol", "rbd"))


@pytest.fixture
def volumes():
    """Publish a case study that found LVM-thin twice as fast as a ZFS volume, under mail, and nothing of Ceph."""
    case_study = make_case_study("volumes")
    for backend, value in (("lvm-thin", 120.0), ("zvol", 60.0)):
        configuration = make_configuration(case_study, backend=backend, host_fs=None, guest_fs=None)
        make_measurement(value, configuration=configuration)
    publish(case_study)


def test_a_forecast_of_another_load_is_drawn_towards_no_difference(volumes):
    same, other = (selectors.forecast(LVM, ZVOL, load, None) for load in ("varmail", "fileserver"))

    assert 1.0 < other.ratio < same.ratio < 2.0
    assert other.low < same.low < 1.0 < same.high


def test_nothing_is_forecast_of_what_was_never_compared_and_of_one_and_the_same(volumes):
    assert selectors.forecast(LVM, RBD, "varmail", None) is None
    assert selectors.forecast(LVM, LVM, "varmail", None) is None


def test_without_evidence_nothing_is_forecast():
    assert selectors.forecast(LVM, ZVOL, "varmail", None) is None


def test_a_forecast_as_of_a_revision_knows_what_was_known_then(volumes):
    known = selectors.forecast(LVM, ZVOL, "varmail", None)
    case_study = make_case_study("reversed")
    for backend, value in (("lvm-thin", 60.0), ("zvol", 120.0)):
        configuration = make_configuration(case_study, backend=backend, host_fs=None, guest_fs=None)
        make_measurement(value, configuration=configuration)
    publish(case_study)

    assert selectors.forecast(LVM, ZVOL, "varmail", None).ratio < known.ratio
    assert selectors.forecast(LVM, ZVOL, "varmail", None, as_of=1).ratio == pytest.approx(known.ratio, rel=1e-6)
