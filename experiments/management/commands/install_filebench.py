"""Install what build_filebench made in a pool of a registered host, or remove it."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from experiments.campaigns import hosts
from experiments.campaigns.troubleshooting import with_diagnosis
from experiments.laboratory.images import filebench_tree
from experiments.laboratory.transport import remote, ssh
from experiments.management import arguments
from experiments.models import Host


class Command(BaseCommand):
    help = (
        "Copy what build_filebench made to a registered host: into .kdb-filebench of one of its storage pools and "
        "nowhere else. The host checks every digest and starts the program before anything takes the place of what "
        "was there. Then the host is checked. May be repeated, also after it was killed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--from", dest="folder", type=Path, metavar="FOLDER", help="Made by build_filebench.")
        what.add_argument("--undo", action="store_true", help="Take it out of every pool of the host.")
        parser.add_argument("--pool", default="", metavar="PATH", help="Default: the host's first.")

    def handle(self, *args: Any, **options: Any) -> None:
        host = arguments.find_host(options["slug"])
        try:
            if options["undo"]:
                self._undo(host)
            else:
                self._install(host, filebench_tree.read(options["folder"]), options["pool"])
            hosts.request_check(host)
        except (hosts.HostError, filebench_tree.TreeError, remote.Refused, ssh.SshError) as error:
            raise CommandError(with_diagnosis(str(error), host)) from error
        arguments.finish_host_job(host)
        version = host.facts.get("filebench", "")
        self.stdout.write(
            f"{host} has Filebench {version}: {host.facts['filebench_program']}"
            if version
            else f"{host} has no Filebench."
        )

    def _install(self, host: Host, tree: filebench_tree.Tree, pool: str) -> None:
        folder, is_new = hosts.install_filebench(host, tree, pool)
        done = f"put there, {len(tree.files)} files, digests checked" if is_new else "there already, undamaged"
        self.stdout.write(f"{folder}: Filebench {tree.version}, {done}.")

    def _undo(self, host: Host) -> None:
        removed = hosts.remove_filebench(host)
        self.stdout.write(f"removed: {', '.join(removed)}" if removed else "Nothing of it was there.")
