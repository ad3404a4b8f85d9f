"""The web server's way in."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kdb.settings.local")
# Before anything is counted: the processes of one web server count together (kdb.operating.metrics).
settings.KDB_METRICS_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(settings.KDB_METRICS_DIR))
application = get_wsgi_application()
