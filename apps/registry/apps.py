from django.apps import AppConfig


class RegistryConfig(AppConfig):
    """What may be served."""

    name = "apps.registry"
    default_auto_field = "django.db.models.BigAutoField"
