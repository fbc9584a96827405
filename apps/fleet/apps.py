from django.apps import AppConfig


class FleetConfig(AppConfig):
    """Where, and what was last seen there."""

    name = "apps.fleet"
    default_auto_field = "django.db.models.BigAutoField"
