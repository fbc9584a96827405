from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Who did what, when and why."""

    name = "apps.audit"
    default_auto_field = "django.db.models.BigAutoField"
