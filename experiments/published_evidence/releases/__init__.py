"""Releases: the published evidence as one file that can be cited, and loaded into another installation."""


class ReleaseError(ValueError):
    """A release cannot be written or loaded; the message names the place and may be shown to users."""
