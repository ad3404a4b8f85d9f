"""Celery, with a worker's signs of life twice a second."""

import sys

from celery.__main__ import main

from kdb.jobs import health_check

health_check.SIGN_SECONDS = 0.5
sys.argv[0] = "celery"
main()
