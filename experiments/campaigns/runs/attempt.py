"""One attempt at one run, as the database has it: its lease, its steps, its lines and its outputs."""

import hashlib
import time
from dataclasses import dataclass, field

from django.db import transaction

from experiments.campaigns import hosts
from experiments.models import Campaign, CampaignRun, Host, RunArtifact, RunLine
from kdb.jobs import jobs

_LINE = 1000  # longest text of a log line


class Cancelled(Exception):  # noqa: N818
    """The campaign was cancelled while the run was under way."""


@dataclass
class Attempt:
    """One attempt at one run. steps : that were begun; attached : the virtual machines of others that it runs on"""

    job: jobs.JobRun
    run: CampaignRun
    steps: int = 0
    attached: list[Host] = field(default_factory=list)

    @property
    def campaign(self) -> Campaign:
        return self.run.campaign

    @property
    def host(self) -> Host:
        return self.run.host

    @property
    def token(self) -> int:
        return hosts.token(self.job)

    def step(self, text: str) -> None:
        """Go to the next step, where the run is still this attempt's. Raises LeaseLost, Cancelled."""
        self.steps += 1
        self.keep()
        with transaction.atomic():
            self.job.step(self.steps)
            CampaignRun.objects.filter(pk=self.run.pk).update(step=text[:80])
            self.say(text)

    def keep(self) -> None:
        """Renew the lease. Raises LeaseLost where the run was given to another worker, Cancelled where it was."""
        if not self.job.renew():
            raise jobs.LeaseLost(f"{self.job} was given to another worker")
        if Campaign.objects.filter(pk=self.campaign.pk, state=Campaign.State.CANCELLED).exists():
            raise Cancelled

    def wait(self, seconds: float) -> None:
        """Wait and keep the lease. Raises as `keep`."""
        until = time.monotonic() + seconds
        while (rest := until - time.monotonic()) > 0:
            self.keep()
            time.sleep(min(rest, 5))

    def say(self, text: str) -> None:
        RunLine.objects.create(run=self.run, text=text[:_LINE])

    def store(self, name: str, data: bytes) -> None:
        RunArtifact.objects.create(
            run=self.run, attempt=self.run.attempt, name=name, data=data, sha256=hashlib.sha256(data).hexdigest()
        )
