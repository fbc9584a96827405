"""What goes wrong when bytes are taken by reference. The messages name places, never a key or a query."""

from apps.common.errors import ControlPlaneError, Invalid


class ReferenceInvalid(Invalid):
    """Not a reference that Conch understands."""

    code = "reference_invalid"
    title = "The reference is not valid"
    hint = "Use s3://bucket/key, https://host/path, /folder/file, models:/name/3 or sha256:..."


class ReferenceNotAllowed(ControlPlaneError):
    """Nothing may be taken from there: it is not in the list of allowed places."""

    code = "reference_not_allowed"
    http_status = 403
    title = "Nothing may be taken from there"


class SourceMissing(ControlPlaneError):
    """There is nothing at the reference."""

    code = "source_missing"
    http_status = 422
    title = "There is nothing at the reference"
    hint = "Compare the reference with what is really there."


class SourceRefused(ControlPlaneError):
    """The place is there and does not give the bytes out."""

    code = "source_refused"
    http_status = 422
    title = "The source refused"
    hint = "Check that Conch's credentials may read it; operations.md says where they are set."


class SourceUnreachable(ControlPlaneError):
    """The place did not answer, or broke off; Conch goes on from where it was."""

    code = "source_unreachable"
    http_status = 502
    retryable = True
    title = "The source did not answer"


class AddressNotAllowed(ControlPlaneError):
    """The host's name leads to an address that is not a public one, and not in the allowed networks."""

    code = "address_not_allowed"
    http_status = 422
    title = "The host leads into a private network"
    hint = "If that is meant, add the network to CONCH_FETCH_NETWORKS."


class RedirectNotAllowed(ControlPlaneError):
    """The answer sends Conch where it may not go, or round in circles."""

    code = "redirect_not_allowed"
    http_status = 422
    title = "The redirect leads where nothing may be taken from"
    hint = "Give the address it leads to, or allow that host in CONCH_FETCH_HOSTS."
