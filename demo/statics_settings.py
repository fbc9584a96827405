"""Settings for `collectstatic` in the embedded stack: over loopback, compressing only costs time."""

from controlplane.settings import *  # noqa: F403
from controlplane.settings import STORAGES

STORAGES = {
    **STORAGES,
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"},
}
