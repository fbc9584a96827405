from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """The HTML door."""

    name = "apps.console"
    default_auto_field = "django.db.models.BigAutoField"
