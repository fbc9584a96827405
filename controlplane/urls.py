"""Where the doors are."""

from django.urls import include, path

from apps.api.own import OwnMetrics

urlpatterns = [
    path("metrics", OwnMetrics.as_view(), name="own_metrics"),
    path("api/", include("apps.api.urls")),
    path("", include("apps.console.urls")),
]

handler500 = "controlplane.failing.failed"
