"""Register the handlers of background jobs, which kdb.jobs.jobs runs."""

from kdb.jobs import jobs

from .campaigns import cleanup, control, host_checks, hosts, recovery
from .campaigns.runs import sequence
from .fleet import retention, watching
from .imports import pipeline
from .laboratory.transport import remote, ssh

_HOST_ERRORS = (hosts.HostError, remote.Refused, ssh.SshError)

jobs.handler(pipeline.READ_JOB)(pipeline.read)
jobs.handler(hosts.CONTACT_JOB, expects=_HOST_ERRORS)(host_checks.contact)
jobs.handler(hosts.CHECK_JOB, expects=_HOST_ERRORS)(host_checks.check)
jobs.handler(control.RUN_JOB)(sequence.execute)
jobs.handler(control.LOOK_JOB)(recovery.look_at_host)
jobs.handler(cleanup.CLEAR_JOB, expects=_HOST_ERRORS)(cleanup.clear_host)
jobs.handler(watching.JOB)(watching.watch)
jobs.handler(retention.JOB)(retention.roll_up)
