"""The signals of experiments to the rest of the system; modelling listens."""

from django.dispatch import Signal

# Sent inside the transaction of a publication or retraction.
# Arguments: case_study_ids (list of int), revision (int).
knowledge_changed = Signal()

# Sent when claims, or what only claims are checked with, were loaded without a publication.
claims_changed = Signal()

# Sent before a run of a campaign begins, under the lock of its host. Argument: host (Host). Who has something under way
# there that would disturb a measurement answers with what it is, others with "".
run_wanted = Signal()
