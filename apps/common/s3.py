"""The one door to S3, of any make: the client, and what its errors mean."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from urllib3.exceptions import HTTPError

from apps.common.errors import ControlPlaneError
from apps.common.text import printable

Kind = type[ControlPlaneError]
CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10, 30
# What is larger is sent and copied in parts of this size, so many at once.
PARTS = TransferConfig(multipart_threshold=64 << 20, multipart_chunksize=64 << 20, max_concurrency=4)
_MISSING = frozenset({"NoSuchKey", "NoSuchBucket", "404"})
_REFUSED = frozenset({"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "401", "403"})
_CHANGED = frozenset({"PreconditionFailed", "InvalidRange", "412", "416"})


def client(*, endpoint_url: str = "", region: str = "") -> Any:
    """The client that the settings CONCH_S3_* make, elsewhere if asked; one per process and settings.

    It tries each call once.
    """
    s3 = settings.CONCH["s3"]
    return _client(
        endpoint_url or s3["endpoint_url"], region or s3["region"], s3["access_key_id"], s3["secret_access_key"]
    )


@cache
def _client(endpoint_url: str, region: str, access_key_id: str, secret_access_key: str) -> Any:
    return boto3.session.Session().client(
        "s3",
        endpoint_url=endpoint_url or None,
        region_name=region or None,
        aws_access_key_id=access_key_id or None,
        aws_secret_access_key=secret_access_key or None,
        config=Config(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            retries={"total_max_attempts": 1},
            # Buckets below a host name of their own need DNS that few other makes have.
            s3={"addressing_style": "path" if endpoint_url else "auto"},
        ),
    )


@dataclass(frozen=True, slots=True)
class Faults:
    """What the owner of a call names its errors; `changed` when the object is another one than before."""

    missing: Kind
    refused: Kind
    unreachable: Kind
    changed: Kind

    @contextmanager
    def named(self, what: str) -> Iterator[None]:
        """Turn what S3 or the way to it says within into the owner's errors; `what` names the object."""
        try:
            yield
        except ClientError as error:
            told = error.response.get("Error", {})
            code = str(told.get("Code", ""))
            said = printable(str(told.get("Message") or code), limit=300)
            raise self._kind(code)(f"{what}: {said} ({printable(code, limit=60)})") from error
        except (BotoCoreError, HTTPError, OSError) as error:
            raise self.unreachable(f"{what}: {printable(str(error), limit=300)}") from error

    def _kind(self, code: str) -> Kind:
        for codes, kind in ((_MISSING, self.missing), (_REFUSED, self.refused), (_CHANGED, self.changed)):
            if code in codes:
                return kind
        return self.unreachable
