"""Where the doors are."""

from django.urls import include, path

urlpatterns = [
    path("api/", include("apps.api.urls")),
    path("", include("apps.console.urls")),
]
