"""Notify people by mail or webhook: announcements.announce makes a delivery for each subscription to the topic.

Start with announcements. subscriptions has who is notified of what, and deliveries sends, trying again for a week.
"""


class NotSent(Exception):  # noqa: N818 - an event, not a mistake
    """An attempt at a delivery failed; the message may be shown to the owner of the subscription."""
