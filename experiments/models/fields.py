"""Fields, and schemas of JSON fields, that several models use."""

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

_MAX_REMEMBERED = 1_000  # texts of a column that are known to have its shape
_MAX_REMEMBERED_LENGTH = 200  # characters


def check_slug(slug: str) -> None:
    """Raise ValidationError where the slug would make the URL of an existing page (experiments.rules.entry_names)."""
    if fault := entry_names.word_fault(slug, entry_names.PAGES):
        raise ValidationError(fault, code="reserved")


class TypedJSONField(models.JSONField):
    """JSON of the shape that `schema` allows, a JSON Schema whose title describes it in words; bundles publish it.

    Writing anything else raises ValidationError. A row that SQL wrote otherwise reads as the default and is logged,
    because one row must not break every page.
    """

    def __init__(self, *args: Any, schema: dict[str, Any], **kwargs: Any) -> None:
        self.schema = schema
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, path, args, kwargs = super().deconstruct()
        return name, path, list(args), {**kwargs, "schema": self.schema}

    @cached_property
    def _valid_texts(self) -> set[str]:
        """Return the texts of the column that are known to have the shape."""
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
        """Tell whether a value has the shape. Short texts are remembered: a check costs as much as 20 reads."""
        if len(text) > _MAX_REMEMBERED_LENGTH:
            return self._validator.is_valid(value)
        if text not in self._valid_texts and self._validator.is_valid(value):
            if len(self._valid_texts) >= _MAX_REMEMBERED:
                self._valid_texts.clear()
            self._valid_texts.add(text)
        return text in self._valid_texts

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        parsed = super().from_db_value(value, expression, connection)
        if value is None or isinstance(expression, KeyTransform) or self._has_shape(value, parsed):
            return parsed
        logger.error("%s.%s has a shape that is not allowed: %.200r", self.model.__name__, self.name, parsed)
        return self.get_default()


def texts(longest: int) -> dict[str, Any]:
    """Return the schema of a list of texts of at most `longest` characters."""
    item = {"type": "string", "minLength": 1, "maxLength": longest}
    title = f"a list of at most 500 texts, each of 1 to {longest} characters"
    return {"type": "array", "maxItems": 500, "items": item, "title": title}


def whole_numbers(largest: int) -> dict[str, Any]:
    """Return the schema of a list of whole numbers from 0 to `largest`."""
    item = {"type": "integer", "minimum": 0, "maximum": largest}
    return {"type": "array", "items": item, "title": f"a list of whole numbers from 0 to {largest:,}"}


def column(model: type[models.Model], name: str) -> "models.Field[Any, Any]":
    """Return the model's field of this name, which must be a column of its table."""
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return field


def related(field: "models.Field[Any, Any]") -> type[models.Model]:
    """Return the model that a foreign key or a many-to-many field refers to."""
    assert isinstance(field.related_model, type)
    return field.related_model
