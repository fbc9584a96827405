"""What can go wrong between Conch and one server."""

from apps.common.errors import ControlPlaneError, Invalid


class ServerUnreachable(ControlPlaneError):
    """The server did not answer, or nobody listens there; trying again may help."""

    code = "server_unreachable"
    http_status = 503
    retryable = True
    title = "The server did not answer"


class ServerFailed(ControlPlaneError):
    """The server answered a plain question with an error of its own; trying again may help."""

    code = "server_failed"
    http_status = 502
    retryable = True
    title = "The server answered with an error"


class MetricsUnread(ControlPlaneError):
    """The server's own metrics were not given in time, or are no metrics; nothing depends on them."""

    code = "metrics_unread"
    http_status = 503
    retryable = True
    title = "The server's metrics could not be read"


class NotAnInferenceServer(ControlPlaneError):
    """Something answers there, but it does not speak the inference protocol."""

    code = "not_an_inference_server"
    http_status = 422
    title = "This is not an inference server"


class ControlRefused(ControlPlaneError):
    """The control API is restricted and the key is missing or wrong."""

    code = "control_refused"
    http_status = 422
    title = "The server's control API is restricted"
    hint = "Give the server's control key (header name and value of its model-repository restriction)."


class NotExplicit(ControlPlaneError):
    """The server does not take load and unload requests."""

    code = "not_explicit"
    http_status = 422
    title = "The server is not in explicit model control mode"
    hint = "Start it with --model-control-mode=explicit."


class LoadRefused(ControlPlaneError):
    """The server tried and the version did not come up; `reason` holds its words."""

    code = "load_refused"
    http_status = 422
    title = "The server could not load the version"


class FailedToPoll(LoadRefused):
    """The server could not read the model's directory or configuration, and does not say why."""

    code = "failed_to_poll"
    hint = "Conch could not find the fault either: the server's own log has the reason."


class LoadPending(ControlPlaneError):
    """The server had not answered by the deadline; the load goes on there."""

    code = "load_pending"
    http_status = 503
    retryable = True
    title = "The load is still going on at the server"


class LoadStuck(ControlPlaneError):
    """The version stayed LOADING past its deadline; no second load is sent."""

    code = "load_stuck"
    http_status = 504
    title = "The load is stuck on the server"
    hint = "Restart that server: only a restart ends a hung load. Its other models keep serving meanwhile."


class UnloadStuck(ControlPlaneError):
    """The unload was taken, but requests in flight never end: their model's process died, most likely."""

    code = "unload_stuck"
    http_status = 504
    title = "The server does not let go of the model"
    hint = "Only a restart of this server ends it. Other models on it still serve."


class ModelUnavailable(ControlPlaneError):
    """The version asked for is not loaded there."""

    code = "model_unavailable"
    http_status = 503
    retryable = True
    title = "The version is not available"


class InferenceFailed(ControlPlaneError):
    """The server answered a request with an error; `reason` holds its words."""

    code = "inference_failed"
    http_status = 422
    title = "The model answered with an error"


class InferenceLate(ServerUnreachable):
    """A request was not answered by its deadline: the model is slow, or the server hangs."""

    code = "inference_late"
    http_status = 504
    title = "The model did not answer in time"


class ConfigUnparsable(Invalid):
    """The model configuration is not what the server's own format allows."""

    code = "config_unparsable"
    title = "The model configuration cannot be read"
    hint = (
        'Mend that place and upload again. config.pbtxt is protobuf\'s text format, not JSON: name: "x", '
        "input [ { ... }, { ... } ], braces and brackets in pairs, no comma after the last."
    )


class OverlayInvalid(Invalid):
    """What an environment wants to set otherwise is no configuration of this model."""

    code = "overlay_invalid"
    title = "The overlay is not valid"
    hint = (
        'It is a JSON object of the configuration\'s fields, as {"dynamic_batching": {"max_queue_delay_microseconds": '
        '500}, "parameters": {"KEY": {"string_value": "x"}}}.'
    )


class UnknownBackend(Invalid):
    """No serving backend of that kind is installed."""

    code = "unknown_backend"
    title = "Unknown kind of server"
