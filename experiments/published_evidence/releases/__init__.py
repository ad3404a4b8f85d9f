"""Releases: the published evidence as one file that can be cited, and loaded into another installation."""


class ReleaseError(ValueError):
    """A release cannot be written or loaded; the text names the place and is fit to show."""
