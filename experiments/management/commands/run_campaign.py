"""Start a planned campaign, print its progress, and do the runs that no worker takes."""

import sys
import threading
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError
from django.db import connection

from experiments.campaigns import checks, control, drafts, plans
from experiments.campaigns.pages import campaign_page
from experiments.imports import pipeline
from experiments.models import Campaign, CampaignRun, Host, RunLine
from kdb.jobs import jobs
from kdb.models import Job


class Command(BaseCommand):
    help = (
        "Start a planned or paused campaign, or a plan from a file on the host you name, and print what happens until "
        "it ends. The runs are done in this process as far as no worker takes them first; Ctrl-C leaves the rest to "
        "workers. Status 1 where a run failed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", help="Short name of a campaign, or the file of a plan (plan.json).")
        parser.add_argument("--host", default="", help="Of a plan: short name of the host that runs it.")
        parser.add_argument("--pool", default="", help="Of a plan: path of its storage pool; else the host's first.")
        parser.add_argument("--slug", default="", help="Of a plan: short name of the new campaign, else the plan's.")
        parser.add_argument(
            "--dry-run", action="store_true", help="Print every step of each kind of run, and do nothing."
        )
        parser.add_argument("--draft", action="store_true", help="File the result as a draft case study at the end.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            campaign = _campaign(options)
        except control.CampaignError as error:
            raise CommandError(str(error)) from error
        if options["dry_run"]:
            self._print_steps(campaign)
            return
        try:
            if campaign.state != Campaign.State.RUNNING:
                control.start(campaign)
            self._work(campaign)
            if options["draft"]:
                draft, batch = drafts.create_draft(campaign, user=campaign.owner)
                pipeline.finish(batch)
                self.stdout.write(f"filed as {draft.slug}: {batch.get_state_display()}")
        except (control.CampaignError, pipeline.ImportRefused) as error:
            raise CommandError(str(error)) from error
        if campaign.runs.filter(state=CampaignRun.State.FAILED).exists():
            sys.exit(1)

    def _print_steps(self, campaign: Campaign) -> None:
        estimate = checks.estimate(campaign)
        self.stdout.write(
            f"{estimate.runs} runs, about {estimate.seconds} s, {estimate.pool_mib} MiB in the pool at a time"
        )
        for sentence in estimate.left_out:
            self.stdout.write(f"left out: {sentence}")
        for kind in estimate.steps:
            self.stdout.write(f"\n{kind['run']}")
            for number, step in enumerate(kind["steps"], start=1):
                self.stdout.write(f"  {number}. {step}")

    def _work(self, campaign: Campaign) -> None:
        last_line, thread, waiting_reason = 0, None, ""
        while True:
            active = CampaignRun.objects.filter(host=campaign.host_id, state=CampaignRun.State.ACTIVE)
            run = active.select_related("job").first()
            # A job that a worker has taken is left to it.
            job = run.job if run else None
            if job and job.state == Job.State.QUEUED and (thread is None or not thread.is_alive()):
                thread = threading.Thread(target=_run_job, args=[job.pk], daemon=True)
                thread.start()
            time.sleep(0.5)
            for line in (
                RunLine.objects.filter(run__campaign=campaign, pk__gt=last_line).select_related("run").order_by("pk")
            ):
                last_line = line.pk
                self.stdout.write(f"{line.at:%H:%M:%S} run {line.run.position}: {line.text}")
            campaign.refresh_from_db()
            is_waiting = campaign.state == Campaign.State.PAUSED and campaign.look_at is not None
            if (
                campaign.state != Campaign.State.RUNNING
                and not is_waiting
                and (thread is None or not thread.is_alive())
            ):
                break
            if is_waiting and campaign.state_reason != waiting_reason:
                waiting_reason = campaign.state_reason
                self.stdout.write(f"waits: {waiting_reason}")
            if run is None or thread is None or not thread.is_alive():
                # Workers do this at each tick, but none may be running.
                jobs.reap()
                control.reconcile()
                for look in Job.objects.filter(kind=control.LOOK_JOB, state=Job.State.QUEUED):
                    jobs.run(look.pk)
        page = campaign_page(campaign)
        counts = ", ".join(f"{count} {label}" for _, label, count in page.counts)
        self.stdout.write(
            f"{campaign.slug} is {campaign.get_state_display()}: {counts}. {campaign.state_reason}".strip()
        )


def _campaign(options: dict[str, Any]) -> Campaign:
    """Return the named campaign, or that of a plan's file: stored, but for a dry run. Raises CampaignError."""
    name = options["campaign"]
    if not name.endswith(".json"):
        campaign = Campaign.objects.select_related("host", "pool").filter(slug=name).first()
        if campaign is None:
            raise control.CampaignError(f"There is no campaign {name!r}.")
        return campaign
    try:
        fields = plans.read_document(Path(name).read_bytes(), name)
    except OSError as error:
        raise control.CampaignError(f"{name}: {error.strerror}") from error
    candidates = Host.objects.filter(runs_on=None, archived_at=None)
    host = candidates.filter(slug=options["host"]).first()
    if host is None:
        allowed = ", ".join(candidates.values_list("slug", flat=True)) or "none is registered"
        raise control.CampaignError(f"--host: found {options['host']!r}, allowed is {allowed}.")
    pools = host.pools.filter(path=options["pool"]) if options["pool"] else host.pools.order_by("pk")
    pool = pools.first()
    if pool is None and options["pool"]:
        raise control.CampaignError(f"--pool: {host} has no {options['pool']}.")
    fields |= {"slug": options["slug"] or fields.get("slug"), "host": host.pk}
    if pool is not None and fields.get("driver") != Host.Driver.ATTACHED:
        fields["pool"] = pool.pk
    form = plans.plan_form(fields, user=None)
    if not form.is_valid():
        raise control.CampaignError(
            "\n".join(f"{name}, {field}: {' '.join(map(str, errors))}" for field, errors in form.errors.items())
        )
    return form.instance if options["dry_run"] else control.create(form.instance, user=None)


def _run_job(job_id: int) -> None:
    """Run a job in a thread, unless a worker took it before, and close the thread's own database connection."""
    try:
        jobs.run(job_id)
    finally:
        connection.close()
