"""What can go wrong between a chart and Prometheus."""

from apps.common.errors import ControlPlaneError, Invalid, NotFound


class PrometheusFailed(ControlPlaneError):
    """Prometheus gave no usable answer."""

    code = "prometheus_failed"
    http_status = 502
    title = "Prometheus gave no answer"


class PrometheusUnreachable(PrometheusFailed):
    """Nobody listens there, or the connection broke."""

    code = "prometheus_unreachable"
    http_status = 503
    retryable = True
    title = "Prometheus is not reachable"
    hint = "See that Prometheus runs and that CONCH_PROMETHEUS_URL names it."


class PrometheusTimeout(PrometheusFailed):
    """It said nothing for longer than a page may wait."""

    code = "prometheus_timeout"
    http_status = 504
    retryable = True
    title = "Prometheus is too slow"
    hint = "Look at Prometheus itself: is it overloaded, or the way to it broken?"


class QueryTooSlow(PrometheusFailed):
    """It answers, but gave up on computing this one."""

    code = "query_too_slow"
    http_status = 504
    retryable = True
    title = "The query takes too long"
    hint = "Ask for a shorter time."


class PrometheusUnwell(PrometheusFailed):
    """It answered, but with a server error or not in its own format."""

    code = "prometheus_unwell"
    retryable = True
    title = "Prometheus is not well"
    hint = "Look at Prometheus itself, and at any proxy in front of it."


class PrometheusRefusedQuery(PrometheusFailed):
    """It understood and said no: a bad query, or more than it will compute."""

    code = "prometheus_refused_query"
    title = "Prometheus refused the query"


class PrometheusRefusedConch(PrometheusFailed):
    """It, or the proxy in front of it, did not let Conch in: 401 or 403."""

    code = "prometheus_refused_conch"
    title = "Prometheus refused Conch"
    hint = (
        "Check CONCH_PROMETHEUS_TOKEN or CONCH_PROMETHEUS_TOKEN_FILE, and CONCH_PROMETHEUS_HEADERS where it asks for "
        "a tenant."
    )


class PrometheusTokenUnusable(PrometheusFailed):
    """The token that Conch is to show there cannot be read, or is none."""

    code = "prometheus_token_unusable"
    http_status = 503
    retryable = True
    title = "The token for Prometheus cannot be used"
    hint = "See that the file which CONCH_PROMETHEUS_TOKEN_FILE names can be read by Conch, and holds one token."


class BadRange(Invalid):
    """A time range no chart can be drawn over."""

    code = "bad_range"
    title = "The time range is not valid"
    hint = "Give range_s in whole seconds, from 60 (a minute) to 2592000 (30 days)."


class ChartUnknown(NotFound):
    """No chart has that key."""

    code = "chart_unknown"
    title = "No such chart"
    hint = "GET /api/v1/charts lists them."


class PageUnknown(NotFound):
    """No page of charts has that name."""

    code = "page_unknown"
    title = "No such page of charts"
    hint = "The pages are model, server, rollout and gpu."
