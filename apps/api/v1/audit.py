"""The audit."""

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, filters
from apps.api.shapes.access import EventFilter, EventShape
from apps.audit import selectors


class Events(ApiView):
    """What was done."""

    @described("List events", gives=EventShape, filters=EventFilter, is_page=True)
    def get(self, request: Request) -> Response:
        """Every change: who, through which door, from where, to what, why. Newest first."""
        found = selectors.events(**filters(EventFilter, request))
        return self.page(found, EventShape, ordering=["-at", "-pk"])
