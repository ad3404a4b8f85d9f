"""Signals of experiments, which modelling receives."""

from django.dispatch import Signal

# Sent inside the transaction of a publication or ending.
# Arguments: case_study_ids (list of int), revision (int).
knowledge_changed = Signal()

# Sent when claims, or rows that only claims are checked with, were loaded without a publication.
claims_changed = Signal()

# Sent before a run of a campaign begins, under the lock of its host. Argument: host (Host). A receiver answers with
# the work of its own there that would disturb a measurement, in words, or with "".
run_wanted = Signal()

# Sent before a reviewer's publication. Argument: case_study. A receiver answers with what would fail once it is
# published, in words for the reviewer, or with "".
publication_wanted = Signal()

# Sent in the transaction in which all work on a host is stopped. Arguments: host (Host), user (who stops it),
# asked_by (only this user's work is ended; None: everybody's).
host_stopped = Signal()
