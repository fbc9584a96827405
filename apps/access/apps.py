from django.apps import AppConfig


class AccessConfig(AppConfig):
    """Who may do what, where."""

    name = "apps.access"
    default_auto_field = "django.db.models.BigAutoField"
