"""The names under which people let their published case studies be shown."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models


def check_printable(name: str) -> None:
    """Raise ValidationError for control characters and those that turn the direction of writing."""
    if not name.isprintable():
        raise ValidationError("A name has letters, digits and signs that can be printed.")


class Contributor(models.Model):
    """The public name that an account chose. Without one nothing tells readers whose a case study is."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="contributor")
    slug = models.SlugField(max_length=60, unique=True, help_text="In the address, which stays when the name changes.")
    name = models.CharField(max_length=120, validators=[check_printable])

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name
