"""Lists read as many rows as a page shows, however many there are, by PostgreSQL's own account."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from experiments.records.api import views
from tests import many_rows, plans

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]

STUDIES = 150
PAGE = 20
# For each row shown: itself twice (a page further on begins in the middle of a configuration), its configuration and
# what tells whether it is a draft's.
A_ROW = 12
# The rows of one configuration are sorted together; case studies, variants and the catalogue are few and read whole.
A_PAGE = 2 * STUDIES + many_rows.ROWS // many_rows.CONFIGURATIONS + 100

OF_CONFIGURATIONS = [
    "",
    *(f"{side}_fs={slug}" for side in ("guest", "host") for slug in ("btrfs", "xfs", "ext4")),
    *("hypervisor=esxi", "hypervisor=xen", "hypervisor=kvm"),
    *("native=true", "native=false", "retracted=true", "retracted=false"),
    f"case_study=study-{STUDIES - 1}",
]
OF_MEASUREMENTS = [
    *OF_CONFIGURATIONS,
    *("configuration=c3", f"case_study=study-{STUDIES - 1}&configuration=c3"),
    *("workload=fileserver", "workload=varmail", "benchmark=fio", "benchmark=filebench"),
    *("vm_count=3", "vm_count=2", "vm_count=1", "operation=read", "operation=write", "operation=nothing"),
    *("block_size_bytes=4096", "block_size_bytes=8192", "metric=latency", "metric=throughput"),
    *("quality=digitised", "quality=exact", "excluded=true", "excluded=false"),
    *("workload=fileserver&hypervisor=esxi", "hypervisor=xen&guest_fs=xfs&vm_count=2"),
]
LISTS = {
    "measurements": OF_MEASUREMENTS,
    "configurations": [*OF_CONFIGURATIONS, "backend=nfs", "backend=lvm"],
    "case-studies": ["", "hypervisor=esxi", "hypervisor=xen", "status=retracted", "status=published"],
    "workload-variants": ["", "workload=fileserver", "benchmark=fio"],
}


@pytest.fixture
def many(db: None) -> None:
    """Case studies by the hundred, whose statistics the planner has, and its settings as KDB opens PostgreSQL."""
    many_rows.fill(STUDIES)
    plans.as_in_use()


def test_a_page_of_every_list_reads_what_it_shows_whatever_it_is_filtered_by(client, many):
    too_many = []
    for name, queries in LISTS.items():
        for query in queries:
            address = f"/api/v1/{name}/?{query}&page_size={PAGE}"
            for page in range(2):
                with CaptureQueriesContext(connection) as captured:
                    answer = client.get(address).json()
                read, shown = plans.of_all(captured), len(answer["results"])
                of_one = 3 * many_rows.ROWS if "case_study=" in query else 0  # may be sorted whole
                if read.total() > A_ROW * shown + A_PAGE + of_one:
                    too_many.append(f"{name} {query} page {page}: {shown} shown, {dict(read)} read")
                address = answer["next"]
                if address is None:
                    break
    assert not too_many, "\n".join(too_many)


def test_every_filter_of_a_list_is_tried():
    of = {
        "measurements": views.MeasurementViewSet,
        "configurations": views.ConfigurationViewSet,
        "case-studies": views.CaseStudyViewSet,
        "workload-variants": views.WorkloadVariantViewSet,
    }
    for name, view in of.items():
        tried = {part.partition("=")[0] for query in LISTS[name] for part in query.split("&")}
        assert set(view.filterset_class.get_filters()) - tried <= {"variant", "publication"}, name
