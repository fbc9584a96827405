from django.apps import AppConfig


class DeploymentsConfig(AppConfig):
    """What should run where, and how far it is."""

    name = "apps.deployments"
    default_auto_field = "django.db.models.BigAutoField"
