"""Errors on the way of a delivery."""


class NotSent(Exception):  # noqa: N818 - an event, not a mistake
    """An attempt failed; the text is fit to show to the owner of the subscription."""
