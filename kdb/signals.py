"""Signals that kdb sends to the applications."""

from django.dispatch import Signal

# Sent at each tick, after lost jobs were requeued.
ticked = Signal()

# Sent by the web server before it forks; what receivers load is shared by its processes.
web_server_began = Signal()

# Sent by each process of a worker before its first job.
worker_process_began = Signal()

# Sent before a notification is sent. Argument: delivery. A receiver answers with the reason why it should not be sent
# any more, in words for its owner, or with "".
delivery_due = Signal()

# Sent in the transaction in which a token is made or revoked. Arguments: token (ApiToken), action (in words), actor
# (user; None: the command line, or a new password).
token_changed = Signal()

# Sent in a transaction when a token is used from a network that is new to it. Argument: token (ApiToken).
token_used_elsewhere = Signal()

# Sent at the end of `manage.py prepare`, when the database is ready and no request has come yet.
database_prepared = Signal()
