"""What kdb tells the applications."""

from django.dispatch import Signal

# Sent with each tick, after the jobs were looked after.
ticked = Signal()
