"""Notify people by mail or webhook: announcements.announce makes a delivery for each subscription that wants it.

Start with announcements; subscriptions says who wants what, and deliveries sends, again and again for a week.
"""


class NotSent(Exception):  # noqa: N818 - an event, not a mistake
    """An attempt at a delivery failed; the text is fit to show to the owner of the subscription."""
