"""Signals that kdb sends to the applications."""

from django.dispatch import Signal

# Sent with each tick, after the jobs were looked after.
ticked = Signal()

# Sent by the web server before it forks: what is made then is shared by the processes that answer.
web_server_began = Signal()

# Sent by each process of a worker before its first job.
worker_process_began = Signal()

# Sent before a notification is sent. Argument: delivery. Who knows why it should not be sent any more answers with
# that, in words for its owner, others with "".
delivery_due = Signal()

# Sent at the end of `manage.py prepare`: the database is ready, and nobody has asked anything yet.
database_prepared = Signal()
