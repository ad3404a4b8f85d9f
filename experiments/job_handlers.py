"""Background work of experiments; kdb.jobs runs it."""

from kdb import jobs

from .campaigns import hosts, runs, steering
from .imports import pipeline
from .observation import keeping, watching

jobs.handler(pipeline.READ_JOB)(pipeline.read)
jobs.handler(hosts.CONTACT_JOB)(hosts.contact)
jobs.handler(hosts.CHECK_JOB)(hosts.check)
jobs.handler(steering.RUN_JOB)(runs.do_run)
jobs.handler(watching.JOB)(watching.watch)
jobs.handler(keeping.JOB)(keeping.roll_up)
