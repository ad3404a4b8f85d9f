"""manage.py move: move a disk of an observed machine to another pool, or empty a pool."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.timezone import now

from modelling.fleet.moving import manual, moves
from modelling.fleet.moving.plans import PlacementError


class Command(BaseCommand):
    help = (
        "Lets a disk move to a pool while its machine runs, or with --empty every disk on a pool away from it "
        "(docs/placement.md). Names are those of plans: kvm-1/mail-1:vda, kvm-1/srv/xfs. A worker of the host's "
        "laboratory does it; the page of the move says how far it is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("disk", metavar="DISK", help="A disk; with --empty the pool that is emptied.")
        parser.add_argument("pool", metavar="POOL", nargs="?", help="Where to; needed without --empty.")
        parser.add_argument("--empty", action="store_true", help="Let everything on a pool move away.")

    def handle(self, *args: Any, disk: str, pool: str | None, empty: bool, **options: Any) -> None:
        if not empty and pool is None:
            raise CommandError("Say to which pool.")
        stay: list[str] = []
        try:
            to = manual.find_pool(pool) if pool else None
            if empty:
                made, stay = manual.empty_pool(manual.find_pool(disk), to, user=None)
            elif to is not None:
                made = [manual.move_disk(manual.find_disk(disk), to, user=None)]
        except PlacementError as error:
            raise CommandError(str(error)) from error
        for move in made:
            self.stdout.write(f"Move {move.pk}: {move.machine_name}, {move.disk}, to {move.new_path}")
        for sentence in stay:
            self.stdout.write(f"Stays: {sentence}")
        if why := moves.reason_to_wait(made[0].host, now()):
            self.stdout.write(f"Nothing begins yet: {why}.")
