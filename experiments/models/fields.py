"""Fields that every model may use."""

import json
import logging
from functools import cached_property
from typing import Any

import jsonschema
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.fields.json import KeyTransform

from experiments.rules import entry_names

logger = logging.getLogger(__name__)

_MOST_REMEMBERED = 1_000  # texts of a column that are known to have its shape
_LONGEST_REMEMBERED = 200  # characters


def check_slug(slug: str) -> None:
    """Raise ValidationError where a page has the address that the slug would make (experiments.rules.entry_names)."""
    if fault := entry_names.word_fault(slug, entry_names.PAGES):
        raise ValidationError(fault, code="reserved")


class TypedJSONField(models.JSONField):
    """JSON of the one shape that `schema` (JSON Schema; its title says it in words) allows. Bundles publish it too.

    Nothing else is written, whichever the door: ValidationError. A row that has something else all the same (SQL put
    it there) reads as the default, and the log says so: one row must not take every page down.
    """

    def __init__(self, *args: Any, schema: dict[str, Any], **kwargs: Any) -> None:
        self.schema = schema
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, path, args, kwargs = super().deconstruct()
        return name, path, list(args), {**kwargs, "schema": self.schema}

    @cached_property
    def _valid(self) -> set[str]:
        """Return the set that remembers texts of columns that have the shape."""
        return set()

    @cached_property
    def _validator(self) -> Any:
        return jsonschema.Draft202012Validator(self.schema)

    def _check(self, value: Any) -> None:
        error = next(self._validator.iter_errors(value), None)
        if error is not None:
            where = self.name + "".join(f"[{part!r}]" for part in error.absolute_path)
            shown = json.dumps(error.instance, default=repr)[:80]
            raise ValidationError(f"{where}: found {shown}, allowed is {self.schema['title']}.", code="wrong_shape")

    def validate(self, value: Any, model_instance: models.Model | None) -> None:
        super().validate(value, model_instance)
        self._check(value)

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        if not hasattr(value, "resolve_expression"):
            self._check(value)
        return super().get_db_prep_save(value, connection)

    def _has_shape(self, text: str, value: Any) -> bool:
        """Tell whether a value has the shape; remembered, as rows mostly say the same and a check costs 20 reads."""
        if len(text) > _LONGEST_REMEMBERED:
            return self._validator.is_valid(value)
        if text not in self._valid and self._validator.is_valid(value):
            if len(self._valid) >= _MOST_REMEMBERED:
                self._valid.clear()
            self._valid.add(text)
        return text in self._valid

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        parsed = super().from_db_value(value, expression, connection)
        if value is None or isinstance(expression, KeyTransform) or self._has_shape(value, parsed):
            return parsed
        logger.error("%s.%s has a shape that is not allowed: %.200r", self.model.__name__, self.name, parsed)
        return self.get_default()


def texts(longest: int) -> dict[str, Any]:
    """Return the schema of a list of texts."""
    item = {"type": "string", "minLength": 1, "maxLength": longest}
    title = f"a list of at most 500 texts, each of 1 to {longest} characters"
    return {"type": "array", "maxItems": 500, "items": item, "title": title}


def whole_numbers(largest: int) -> dict[str, Any]:
    """Return the schema of a list of whole numbers that are not negative."""
    item = {"type": "integer", "minimum": 0, "maximum": largest}
    return {"type": "array", "items": item, "title": f"a list of whole numbers from 0 to {largest:,}"}


def column(model: type[models.Model], name: str) -> "models.Field[Any, Any]":
    """Return the field of the model that is a column of its table."""
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return field


def related(field: "models.Field[Any, Any]") -> type[models.Model]:
    """Return the model that a foreign key, or a many-to-many field, leads to."""
    assert isinstance(field.related_model, type)
    return field.related_model
