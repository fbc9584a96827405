"""How servers are listed: server-2 before server-10, on every database."""

from typing import TYPE_CHECKING, Any

from django.db import models

from apps.common.names import NATURAL_CHARS, natural

if TYPE_CHECKING:
    _Text = models.CharField[str, str]
else:
    _Text = models.CharField


class NaturalKey(_Text):
    """What a row's `name` sorts by; written with the row, however it is made."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": NATURAL_CHARS, "editable": False, "default": "", **options})

    def pre_save(self, model_instance: models.Model, add: bool) -> str:  # noqa: FBT001, ARG002 - the signature is Django's
        """From the name as it is now."""
        key = natural(str(model_instance.name))  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, key)
        return key


# Names that differ by leading zeros alone sort by themselves.
BY_NAME = ("sorts_as", "name")
BY_ENVIRONMENT = ("environment__rank", "environment__name", *BY_NAME)
