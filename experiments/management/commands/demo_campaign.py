"""manage.py demo_campaign: a paper measured again on this very machine, from nothing to a draft, in five minutes."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError, call_command
from django.urls import reverse

from experiments.campaigns import control, demonstration, hosts
from experiments.campaigns.troubleshooting import with_diagnosis
from experiments.models import Host


class Command(BaseCommand):
    help = (
        "Measure the smallest part of a paper (p3) again on this machine: file systems x varmail and fileserver x "
        "repetitions with fio, then compare and file a draft. With root: ext4, XFS and, where mkfs.btrfs is there, "
        "Btrfs in image files below /var/lib/kdb/demo. Without: a folder (~/kdb-demo) on the file system that it is "
        "on, and caches stay warm. An sshd of its own answers on the loopback meanwhile."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--folder", type=Path, help="Where to measure, in place of the folder above.")
        parser.add_argument("--seconds", type=int, default=5, help="Length of a run, s (5).")
        parser.add_argument("--repetitions", type=int, default=3, help="Of each cell (3).")
        parser.add_argument("--owner", default="", help="An operator, whose campaign and draft it becomes.")

    def handle(self, *args: Any, **options: Any) -> None:
        for name, most in (("seconds", 3600), ("repetitions", 100)):
            if not 1 <= options[name] <= most:
                raise CommandError(f"--{name}: found {options[name]}, allowed is 1 to {most}.")
        owner = User.objects.filter(username=options["owner"]).first()
        if options["owner"] and owner is None:
            raise CommandError(f"--owner: there is no account {options['owner']!r}.")
        pool = options["folder"] or demonstration.default_pool()
        try:
            with demonstration.this_machine(pool) as host:
                self._show(host, pool, options, owner)
        except (demonstration.CannotShow, control.CampaignError) as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            raise CommandError(f"--folder: {' '.join(error.messages)}") from error
        except hosts.HostError as error:
            raise CommandError(with_diagnosis(str(error), Host.objects.get(slug=demonstration.NAME))) from error

    def _show(self, host: Host, pool: Path, options: dict[str, Any], owner: User | None) -> None:
        asked = {name: options[name] for name in ("seconds", "repetitions")}
        campaign, outline = demonstration.plan(host, pool, **asked, owner=owner)
        lines = [f"{campaign.title}, in {pool}: about {outline.seconds} s", *outline.plans, "Not done here:"]
        lines += [f"  {sentence}" for sentence in outline.left_out]
        address = reverse("campaign-detail", args=[campaign.slug])
        self.stdout.write("\n".join([*lines, f"To watch it beside script/server, as an operator: {address}\n"]))
        call_command("run_campaign", campaign.slug, draft=True, stdout=self.stdout)
        campaign.refresh_from_db()
        assert campaign.case_study is not None  # run_campaign raises where nothing could be filed
        self.stdout.write(
            f"\nThe paper, and here: {reverse('replication', args=[campaign.slug])}\n"
            f"The draft: {reverse('draft-detail', args=[campaign.case_study.slug])}\n"
            "Its page shows what it would change; nothing counts before it is reviewed and published. To sign in: "
            "manage.py create_user NAME --role administrators"
        )
