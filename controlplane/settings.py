"""Django's settings, put together from `env`."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import django_htmx
import plotly
from csp.constants import NONE, SELF, UNSAFE_INLINE

from controlplane import env

BASE_DIR = env.BASE_DIR
SECRET_KEY = env.secret_key()
DEBUG = env.flag("CONCH_DEBUG")
ALLOWED_HOSTS = env.names("CONCH_ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = env.names("CONCH_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "apps.audit",
    "apps.access",
    "apps.registry",
    "apps.fleet",
    "apps.metrics",
    "apps.deployments",
    "apps.api",
    "apps.console",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "controlplane.urls"
WSGI_APPLICATION = "controlplane.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DATABASES = {"default": env.database(env.text("CONCH_DATABASE_URL"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False
LOGIN_URL = "console:sign_in"
LOGIN_REDIRECT_URL = "console:fleet"
LOGOUT_REDIRECT_URL = "console:sign_in"
# Guessing is slowed down per name and address: nobody can lock a colleague out from elsewhere.
AUTHENTICATION_BACKENDS = ["axes.backends.AxesBackend", "django.contrib.auth.backends.ModelBackend"]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=1)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "access/sign_in_locked.html"
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.flag("CONCH_SECURE_COOKIES")
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        # Plotly sets style attributes; it needs no eval.
        "style-src": [SELF, UNSAFE_INLINE],
        "img-src": [SELF, "data:", "blob:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [
    BASE_DIR / "static",
    # Served from the installed packages: nothing is vendored.
    ("plotly", Path(plotly.__file__).parent / "package_data"),
    ("htmx", Path(django_htmx.__file__).parent / "static" / "django_htmx"),
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True

REDIS_URL = env.text("CONCH_BROKER_URL")
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL.replace("redis+socket://", "unix://"),
        "KEY_PREFIX": "conch",
        # A cache that hangs must not hang pages: they do without it.
        "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["apps.api.auth.TokenAuthentication", "apps.api.auth.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "apps.api.pagination.CursorPagination",
    "EXCEPTION_HANDLER": "apps.api.errors.handle",
    "PAGE_SIZE": 50,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Conch",
    "DESCRIPTION": "A control plane for fleets of NVIDIA Triton Inference Servers.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "VersionState": "apps.api.shapes.versions.STATES",
        "UploadState": "apps.api.shapes.uploads.UPLOAD_STATES",
        "ServerState": "apps.api.shapes.fleet.SERVER_STATES",
        "RolloutState": "apps.api.shapes.deployments.STATES",
        "TrialState": "apps.api.shapes.trials.TRIAL_STATES",
        "RolloutKind": "apps.api.shapes.deployments.KINDS",
        "Role": "apps.api.shapes.access.ROLES",
        "Scope": "apps.api.shapes.access.SCOPE_NAMES",
    },
}

# Uploads always go to a file: memory does not grow with their size.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
FILE_UPLOAD_TEMP_DIR = Path(env.text("CONCH_ARTIFACTS_DIR") or env.home() / "artifacts") / "receiving"
# The folder above is made by the first upload.
SILENCED_SYSTEM_CHECKS = ["files.E001"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 2**20

CONCH: dict[str, Any] = {
    "artifacts_dir": Path(env.text("CONCH_ARTIFACTS_DIR") or env.home() / "artifacts"),
    "prometheus_url": env.text("CONCH_PROMETHEUS_URL"),
    "prometheus_token": env.text("CONCH_PROMETHEUS_TOKEN"),
    "prometheus_token_file": env.text("CONCH_PROMETHEUS_TOKEN_FILE"),
    "prometheus_headers": env.headers("CONCH_PROMETHEUS_HEADERS"),
    "prometheus_link": env.text("CONCH_PROMETHEUS_LINK"),
    "grafana_link": env.text("CONCH_GRAFANA_LINK"),
    "scrape_interval_s": env.number("CONCH_SCRAPE_INTERVAL_S"),
    "max_upload_bytes": env.number("CONCH_MAX_UPLOAD_BYTES"),
    "operator_max_upload_bytes": env.number("CONCH_OPERATOR_MAX_UPLOAD_BYTES"),
    "max_incoming_bytes": env.number("CONCH_MAX_INCOMING_BYTES"),
    "max_unfinished_uploads": env.number("CONCH_MAX_UNFINISHED_UPLOADS"),
    "upload_expires_s": env.number("CONCH_UPLOAD_EXPIRES_S"),
    "fetch": {
        "roots": env.names("CONCH_FETCH_ROOTS"),
        "hosts": env.names("CONCH_FETCH_HOSTS"),
        "networks": env.names("CONCH_FETCH_NETWORKS"),
        "certificates": env.text("CONCH_FETCH_CERTIFICATES"),
        "buckets": env.names("CONCH_FETCH_BUCKETS"),
        "mlflow_url": env.text("CONCH_MLFLOW_URL"),
        "mlflow_token": env.text("CONCH_MLFLOW_TOKEN"),
    },
    "s3": {
        "endpoint_url": env.text("CONCH_S3_ENDPOINT_URL"),
        "region": env.text("CONCH_S3_REGION"),
        "access_key_id": env.text("CONCH_S3_ACCESS_KEY_ID"),
        "secret_access_key": env.text("CONCH_S3_SECRET_ACCESS_KEY"),
    },
    "max_unpacked_bytes": env.number("CONCH_MAX_UNPACKED_BYTES"),
    "max_ratio": env.number("CONCH_MAX_RATIO"),
    "max_entries": env.number("CONCH_MAX_ENTRIES"),
    "keep_versions": env.number("CONCH_KEEP_VERSIONS"),
    "lease_s": env.number("CONCH_LEASE_S"),
    "observe_every_s": env.number("CONCH_OBSERVE_EVERY_S"),
    "sweep_every_s": env.number("CONCH_SWEEP_EVERY_S"),
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    # It tells every sign-in; the audit and the account's own page do.
    "loggers": {"axes": {"level": "WARNING"}},
    "root": {"handlers": ["console"], "level": env.text("CONCH_LOG_LEVEL")},
}
