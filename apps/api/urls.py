"""REST paths. Names in paths are held to the allow-list; anything else is not there."""

from django.urls import URLPattern, URLResolver, include, path, re_path, register_converter
from django.urls.converters import IntConverter, StringConverter

from apps.api import schema
from apps.common.names import MAX_VERSION, PATTERN


class NameConverter(StringConverter):
    """A name as `apps.common.names` allows it."""

    regex = PATTERN


class ScopeConverter(StringConverter):
    """An environment's name, or `*` for everywhere."""

    regex = rf"(?:{PATTERN}|\*)"


class NumberConverter(IntConverter):
    """A whole number that a database can hold."""

    regex = "[0-9]{1,19}"

    def to_python(self, value: str) -> int:
        """The number; ValueError, which means no such path, when it is too large."""
        number = int(value)
        if number > MAX_VERSION:
            raise ValueError(value)
        return number


register_converter(NameConverter, "name")
register_converter(ScopeConverter, "scope")
register_converter(NumberConverter, "number")

app_name = "api"
urlpatterns: list[URLPattern | URLResolver] = [
    path("v1/", include("apps.api.v1.urls")),
    re_path(r"^schema/?$", schema.Schema.as_view(), name="schema"),
    re_path(r"^docs/?$", schema.docs, name="docs"),
    re_path(r"^", schema.Nowhere.as_view(), name="nowhere"),
]
