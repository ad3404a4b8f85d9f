"""The signals by which a session tells the rest of the system."""

from django.dispatch import Signal

# Sent when a session has ended, in that transaction.
sitting_ended = Signal()
