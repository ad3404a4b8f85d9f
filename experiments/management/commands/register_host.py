"""Register a host for campaigns, once somebody has confirmed its key."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError

from experiments import permissions
from experiments.campaigns import hosts
from experiments.campaigns.forms import HostForm
from experiments.laboratory.transport import proxmox_api
from experiments.management import arguments
from experiments.models import Host


class Command(BaseCommand):
    help = (
        "Register a host, show its key's fingerprint, and ask. This machine must reach the host, as its workers do. "
        "--accept takes the fingerprint that you read on the host itself, for use without a terminal. A host that no "
        "worker can reach is registered with --runner in place of an address; the key of its runner is printed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("address", nargs="?", default="", help="Host name or IP address; none with --runner.")
        parser.add_argument("--runner", action="store_true", help="It has a runner. --owner is needed.")
        parser.add_argument("--api", action="store_true", help="Proxmox VE's API is asked, with the token in --key.")
        parser.add_argument("--name", help="In words.")
        parser.add_argument("--port", type=int, help="Default: 22; of --api 8006.")
        parser.add_argument("--login", default="root")
        parser.add_argument("--sudo", action="store_true", help="The login may sudo without a password.")
        parser.add_argument("--key", default="", help="Name of a file in the folder of keys; left out, the ssh agent.")
        parser.add_argument("--laboratory", default="local")
        parser.add_argument("--driver", action="append", choices=Host.Driver.values, help="Default: native.")
        parser.add_argument(
            "--pool", action="append", default=[], metavar="PATH[ KIND]", help="image (default), existing, storage."
        )
        parser.add_argument("--guest-image", default="", metavar="FOLDER", help="On the host.")
        parser.add_argument("--owner", default="", help="The operator whose host it is; left out: the administrators'.")
        parser.add_argument("--accept", metavar="FINGERPRINT", help='"SHA256:..."')

    def handle(self, *args: Any, **options: Any) -> None:
        owner = User.objects.filter(username=options["owner"], is_active=True).first()
        if options["owner"] and (owner is None or not permissions.may_operate(owner)):
            raise CommandError(f"--owner: {options['owner']!r} is no account of an operator.")
        if options["runner"] and owner is None:
            raise CommandError("--runner: whose it is must be said with --owner.")
        form = HostForm(
            {
                **{name: options[name] for name in ("slug", "address", "login", "laboratory", "guest_image")},
                "port": options["port"] or (proxmox_api.PORT if options["api"] else 22),
                **{"name": options["name"] or options["slug"], "key_name": options["key"]},
                **{"pools": options["pool"], "uses_sudo": options["sudo"], "is_by_runner": options["runner"]},
                "is_by_api": options["api"],
                "drivers": options["driver"] or [Host.Driver.PROXMOX if options["api"] else Host.Driver.NATIVE],
            },
            user=None,
        )
        if not form.is_valid():
            faults = (f"{name}: {' '.join(map(str, errors))}" for name, errors in form.errors.items())
            raise CommandError("; ".join(faults))
        try:
            host = hosts.register(form.save(commit=False), form.cleaned_data["pools"], user=owner, any_key=True)
        except hosts.HostError as error:
            raise CommandError(str(error)) from error
        if options["runner"] and owner is not None:
            self.stdout.write(f"Registered {host.slug}. The key of its runner, shown this once:")
            self.stdout.write(hosts.make_runner_token(host, user=owner))
            return
        try:
            arguments.finish_host_job(host)
            fingerprint = hosts.fingerprint(host.offered_key)
            self.stdout.write(f"{host.address} port {host.port} shows the key {fingerprint}")
            if options["accept"] is None and input("Is this the host? Type yes to trust it: ").strip() != "yes":
                raise CommandError("Not accepted, and not registered.")
            hosts.accept_key(host, options["accept"] or fingerprint, any_key=True)
            host.refresh_from_db()
            arguments.finish_host_job(host)
        except (CommandError, hosts.HostError) as error:
            hosts.unregister(host)
            raise CommandError(str(error)) from error
        if host.is_by_api:
            self.stdout.write(f"Registered {host.slug}: {host.facts['pve']}, by its API")
            return
        self.stdout.write(f"Registered {host.slug}: {host.facts['distribution']}, kernel {host.facts['kernel']}")
        if host.facts.get("root", "0") != "0":
            self.stdout.write(f"  not root: {host.login}, so nothing is made there (--sudo, where it may sudo -n)")
        for path, pool in host.facts["pools"].items():
            if pool.get("is_missing"):
                self.stdout.write(f"  not there: {path}, a storage pool ({pool.get('why')})")
        for item in host.facts["missing"]:
            self.stdout.write(f"  not there: {item['program']} ({item['from']})")
