"""Over which time charts are shown."""

from django.http import HttpRequest

RANGES = (("900", "15 min"), ("3600", "1 h"), ("21600", "6 h"), ("86400", "24 h"), ("604800", "7 d"))


def chosen_range(request: HttpRequest) -> dict[str, object]:
    """The ranges there are and the one asked for, in seconds."""
    asked = request.GET.get("range", "")
    return {"ranges": RANGES, "range_s": asked if asked in dict(RANGES) else RANGES[0][0]}
