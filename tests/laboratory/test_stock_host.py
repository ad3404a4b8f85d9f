"""The stock host is what its documentation says, and no test changes another's."""

import pytest

from tests.experiments.laboratory.conftest import bare_host, stock_lab  # noqa: F401 - fixtures

from .stock_host import LOGIN

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


def test_libvirt_is_as_the_distribution_leaves_it(stock_lab):  # noqa: F811
    assert stock_lab.inside("systemctl", "is-system-running").strip() == "running"
    assert stock_lab.inside("dpkg", "--verify", "libvirt-daemon-system", "libvirt-daemon", "qemu-system-x86") == ""
    changed = stock_lab.inside("sh", "-c", "grep -rhE '^[^#]' /etc/libvirt/qemu.conf /etc/libvirt/libvirtd.conf")
    assert changed.split() == []
    capabilities = stock_lab.inside("virsh", "-c", "qemu:///system", "capabilities")
    user = stock_lab.inside("id", "-u", "libvirt-qemu").strip()
    assert f"<baselabel type='qemu'>+{user}:+" in capabilities


def test_root_logs_in_and_an_ordinary_login_may_sudo(bare_host):  # noqa: F811
    with bare_host.connection() as root, bare_host.connection(LOGIN) as ordinary:
        assert root.run(["id", "-u"]).text == "0\n"
        assert ordinary.run(["id", "-u"]).text == "1000\n"
        assert ordinary.run(["sudo", "-n", "id", "-u"]).text == "0\n"


@pytest.mark.parametrize("turn", ["first", "second"])
def test_what_a_test_changes_is_gone_for_the_next(bare_host, turn):  # noqa: F811
    assert bare_host.inside("sh", "-c", "test -e /etc/changed && echo changed; touch /etc/changed") == ""
