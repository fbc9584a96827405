from django.apps import AppConfig


class MetricsConfig(AppConfig):
    """How it is doing."""

    name = "apps.metrics"
    default_auto_field = "django.db.models.BigAutoField"
