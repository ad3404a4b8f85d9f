"""Background work of experiments; kdb.jobs.jobs runs it."""

from kdb.jobs import jobs

from .campaigns import hosts, left_overs, returning, steering
from .campaigns.runs import sequence
from .fleet import keeping, watching
from .imports import pipeline
from .laboratory.reach import remote, ssh

_OF_HOSTS = (hosts.HostError, remote.Refused, ssh.SshError)

jobs.handler(pipeline.READ_JOB)(pipeline.read)
jobs.handler(hosts.CONTACT_JOB, expects=_OF_HOSTS)(hosts.contact)
jobs.handler(hosts.CHECK_JOB, expects=_OF_HOSTS)(hosts.check)
jobs.handler(steering.RUN_JOB)(sequence.do_run)
jobs.handler(steering.LOOK_JOB)(returning.look)
jobs.handler(left_overs.CLEAR_JOB, expects=_OF_HOSTS)(left_overs.clear)
jobs.handler(watching.JOB)(watching.watch)
jobs.handler(keeping.JOB)(keeping.roll_up)
