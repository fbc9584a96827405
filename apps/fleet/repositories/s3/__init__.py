"""A prefix of a bucket that Conch's workers write and servers read."""

from apps.fleet.repositories.s3.bucket import Bucket

__all__ = ["Bucket"]
