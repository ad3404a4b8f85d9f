"""The web server's way in."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from kdb.postgresql import limit_requests

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kdb.settings.local")
# Before anything is counted: the processes of one web server count together (kdb.operating.metrics).
settings.KDB_METRICS_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(settings.KDB_METRICS_DIR))
limit_requests(settings.DATABASES, settings.KDB_STATEMENT_SECONDS)
application = get_wsgi_application()
