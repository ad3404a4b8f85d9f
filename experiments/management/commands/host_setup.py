"""Install on a registered host what campaigns need, or undo that."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError

from experiments.campaigns import hosts
from experiments.campaigns.troubleshooting import with_diagnosis
from experiments.laboratory.transport import remote, setup, ssh
from experiments.management import arguments
from experiments.models import CampaignRun, Host


class Command(BaseCommand):
    help = (
        "Say what a registered host lacks for campaigns: packages, in its package manager's own words, and the service "
        "of libvirt. Nothing is changed without --apply, which needs root there. --undo takes back what "
        "earlier calls changed, and nothing else."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--dry-run", action="store_true", help="Only say so; this is what happens anyway.")
        what.add_argument("--apply", action="store_true", help="Do it, step by step.")
        what.add_argument("--undo", action="store_true", help="Take back what was done, the last step first.")
        parser.add_argument(
            "--driver", choices=("native", "libvirt"), help="What it is to be ready for; else as it is registered."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        host = arguments.find_host(options["slug"])
        with_guests = options["driver"] == "libvirt" if options["driver"] else Host.Driver.LIBVIRT in host.drivers
        changes, orphans = options["apply"] or options["undo"], []
        if changes and CampaignRun.objects.filter(host=host, state=CampaignRun.State.ACTIVE).exists():
            raise CommandError(f"A run is under way on {host}: pause its campaign first.")
        try:
            with hosts.connect(host) as machine:
                if options["undo"]:
                    self._undo(machine)
                    orphans = setup.orphans(machine)
                else:
                    self._set_up(machine, with_guests=with_guests, applies=options["apply"])
        except (hosts.HostError, remote.Refused, ssh.SshError) as error:
            raise CommandError(with_diagnosis(str(error), host)) from error
        if changes:
            self.stdout.write(f"Now check the host: manage.py check_host {host.slug}")
        if orphans:
            self.stdout.write(
                f"What came along stays until apt-get autoremove, which would remove: {', '.join(orphans)}"
            )

    def _set_up(self, machine: ssh.Connection, *, with_guests: bool, applies: bool) -> None:
        seen, done = setup.look(machine, with_guests=with_guests), 0
        while todo := list(setup.steps(seen, with_guests=with_guests)):
            if not applies:
                self._print(machine, seen, todo)
                return
            step = todo[0]
            done += 1
            self.stdout.write(f"{done}. {step.words}\n   ({step.why}; undone by: {step.undo})")
            setup.apply(machine, step)
            seen, before = setup.look(machine, with_guests=with_guests), seen
            if seen == before:
                raise CommandError(f"It changed nothing: {step.words}")
        self.stdout.write("Nothing is lacking." if not done else "Done.")

    def _print(self, machine: ssh.Connection, seen: setup.HostState, todo: list[setup.Step]) -> None:
        for number, step in enumerate(todo, start=1):
            self.stdout.write(f"{number}. {step.words}\n   ({step.why}; undone by: {step.undo})")
        if seen.lacking:
            self.stdout.write(f"\n{seen.manager} says:\n{setup.simulated(machine, seen.lacking).rstrip()}")
        self.stdout.write(
            "\nNothing was changed. --apply does it."
            if seen.is_root
            else "\nNothing was changed; the login is not root, so an administrator has to."
        )

    def _undo(self, machine: ssh.Connection) -> None:
        undone = setup.undo(machine)
        self.stdout.write("\n".join(f"undone: {what}" for what in undone) or "Nothing was there to undo.")
