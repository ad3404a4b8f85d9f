"""The signals by which a sitting tells the rest of the system."""

from django.dispatch import Signal

# Sent when a sitting has ended, in that transaction.
sitting_ended = Signal()
