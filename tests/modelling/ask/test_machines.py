"""Machines kept by name: the owner's alone, and gone with him."""

import pytest

from modelling.ask import machines
from modelling.models import KeptMachine
from tests.factories import make_user

pytestmark = pytest.mark.django_db

FACTS = {"hypervisor": "kvm", "disks": "nvme", "images": "ext4", "guest_os_family": "", "vm_count": 3}


@pytest.fixture
def owner(client, published_evidence):
    user = make_user("")
    client.force_login(user)
    return user


def kept(client, name="rack 1", **facts):
    return client.post("/machines/", {"name": name, **FACTS, **facts})


@pytest.mark.sqlite
def test_a_machine_is_kept_and_chosen_again(client, owner):
    address = kept(client, hypervisor="KVM")["Location"]
    assert address == "/?hypervisor=kvm&disks=nvme&images=ext4&vm_count=3"
    page = client.get(address).content.decode()
    assert '<option value="nvme" selected>' in page
    asked = client.get("/?axis=guest-fs&workload=varmail").content.decode()
    assert "/?workload=varmail&amp;hypervisor=kvm&amp;disks=nvme&amp;images=ext4&amp;vm_count=3" in asked
    assert "KVM, NVMe, images on ext4, 3 at once" in asked


@pytest.mark.sqlite
def test_what_was_asked_may_be_kept_and_a_stranger_is_not_offered_it(client, owner):
    address = "/?axis=fs-pair&workload=varmail&hypervisor=kvm&disks=nvme"
    assert '<input type="hidden" name="disks" value="nvme">' in client.get(address).content.decode()
    assert "hx-swap-oob" in client.get(address, headers={"HX-Request": "true"}).content.decode()
    client.logout()
    assert "Your machines" not in client.get(address).content.decode()
    assert kept(client)["Location"].startswith("/accounts/login/")


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"name": ""}, "name: This field is required."),
        ({"disks": "tape"}, "disks: &#x27;tape&#x27; is no kind of disks"),
        ({"images": "floppy"}, "Images cannot lie on &#x27;floppy&#x27; here; allowed are"),
        ({"vm_count": "99999999"}, "vm_count: Ensure this value is less than or equal to 32767."),
        (dict.fromkeys(FACTS, ""), "Say something of the machine"),
    ],
)
def test_what_is_no_machine_is_refused_by_field(client, owner, facts, complaint):
    response = kept(client, **facts)
    assert response.status_code == 422
    assert complaint in response.content.decode()
    assert not KeptMachine.objects.exists()


def test_the_same_name_is_the_same_machine_and_there_is_an_end(client, owner, monkeypatch):
    monkeypatch.setattr(machines, "MOST", 2)
    for name in ("a", "a", "b"):
        assert kept(client, name).status_code == 302
    refused = kept(client, "c")
    assert refused.status_code == 422
    assert "You keep 2 machines" in refused.content.decode()
    assert kept(client, "b", disks="hdd").status_code == 302
    assert list(KeptMachine.objects.values_list("name", "disks")) == [("a", "nvme"), ("b", "hdd")]


def test_nobody_sees_or_deletes_the_machine_of_another(client, owner):
    machine = machines.store_machine(make_user(""), "not yours", FACTS)
    assert "not yours" not in client.get("/machines/").content.decode()
    assert client.post(f"/machines/{machine.pk}/delete/").status_code == 404
    assert KeptMachine.objects.filter(pk=machine.pk).exists()
    mine = machines.store_machine(owner, "mine", FACTS)
    assert client.post(f"/machines/{mine.pk}/delete/").status_code == 302
    assert not KeptMachine.objects.filter(pk=mine.pk).exists()


def test_machines_go_with_their_owner(db):
    user = make_user("")
    machines.store_machine(user, "rack 1", FACTS)
    user.delete()
    assert not KeptMachine.objects.exists()
