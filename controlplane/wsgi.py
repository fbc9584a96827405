"""The web server's entry."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
application = get_wsgi_application()
# Every view is imported now, not for the first visitor. What is there then stays there: without `freeze` a request now
# and then waits 100 ms for all of it to be looked through.
_ = get_resolver().url_patterns
gc.collect()
gc.freeze()
