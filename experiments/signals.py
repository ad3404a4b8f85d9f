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

# Sent before a reviewer's publication. Argument: case_study. Who could not answer with it answers with what would fail,
# in words for the reviewer, others with "".
publication_wanted = Signal()

# Sent in the transaction in which a host's owner stops everything there. Arguments: host (Host), user (who does it),
# asked_by (whose work alone is ended; None: everybody's).
host_stopped = Signal()
