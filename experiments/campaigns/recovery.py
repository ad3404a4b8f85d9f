"""Campaigns that paused because their host could not be used: it is looked at until it can, and they go on."""

from experiments.laboratory import plan
from experiments.laboratory.targets import drivers
from experiments.laboratory.transport import remote, ssh
from experiments.models import Campaign, Host, StoragePool
from kdb.jobs import jobs

from . import cleanup, control, hosts
from .runs import outcomes

SPARE_MIB = 64  # beside the disks of a run, as remote.sh wants it


def look_at_host(job: jobs.JobRun, campaign_id: int) -> None:
    """Let the campaign go on where its host answers, has room, and nothing is left there that no area knows."""
    waiting = Campaign.objects.filter(pk=campaign_id, state=Campaign.State.PAUSED, look_at__isnull=False)
    campaign = waiting.select_related("host", "pool").first()
    if campaign is None:
        return
    try:
        _use(campaign)
    except ssh.KeyChanged as error:
        hosts.block(campaign.host, str(error))
        control.stay_paused(campaign, str(error), looks_again=False)
    except (ssh.SshError, hosts.HostError, remote.Refused) as error:
        control.stay_paused(campaign, str(error), looks_again=outcomes.outcome_of(error) is outcomes.Outcome.WAITS)
    else:
        control.resume(campaign)


def _use(campaign: Campaign) -> None:
    """Raise what keeps a run of the campaign from beginning."""
    if campaign.driver == Host.Driver.ATTACHED or campaign.pool is None:
        for host in Host.objects.filter(runs_on=campaign.host, blocked_reason="").exclude(host_key=""):
            with hosts.connect(host) as machine:
                for path in hosts.folders(host):
                    remote.call(machine, "ready", path, 0)
        return
    is_storage = campaign.pool.kind == StoragePool.Kind.STORAGE
    folder = hosts.folder_beside(campaign.host) if is_storage else campaign.pool.path
    needed = plan.host_disk_mib(campaign.driver, campaign.disk_mib, campaign.vm_counts or [1]) + SPARE_MIB
    with hosts.connect(campaign.host) as machine:
        cleanup.find_leftovers(machine, campaign.host)
        makers = drivers.makers([campaign.driver])
        remote.call(machine, "ready", folder, 0 if is_storage else needed, *makers)
