"""The kind `s3`: a prefix of a bucket. A server copies what it loads, so `__pycache__` never comes back here.

There is no rename. A version is there once every object of its manifest is; nothing names it before, because
`config.pbtxt`, which a restarted server goes by, comes last.
"""

import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from apps.common import s3
from apps.common.names import SHADOW_SUFFIX, check_model_name, shadow_of
from apps.common.text import printable
from apps.fleet.errors import BadPath, SharedFileDiffers, VersionDiffers, VersionNotPublished
from apps.fleet.repositories.manifest import File, manifest_of
from apps.fleet.repositories.names import is_version_name, looks_like_version
from apps.fleet.repositories.proof import index_of_same_repository
from apps.fleet.repositories.protocol import Delivered, Delivery, ReadsHere
from apps.fleet.repositories.s3.objects import Object, Objects
from apps.serving.protocol import IndexEntry, ServingBackend

CONFIG_FILE = "config.pbtxt"
MARKER_PREFIX = "conch_asks_"
LEFTOVER_AGE, UPLOAD_AGE = timedelta(minutes=1), timedelta(hours=6)
SETTINGS = ("endpoint_url", "region")


class Bucket:
    """See `Home`."""

    forgets = ""
    tells_all = True

    def __init__(self, place: str, settings: Mapping[str, Any]) -> None:
        self.place = place
        url = urlsplit(place)
        prefix = url.path.strip("/")
        client = s3.client(**{name: str(settings[name]) for name in SETTINGS if settings.get(name)})
        self._objects = Objects(client, bucket=url.netloc, prefix=f"{prefix}/" if prefix else "", place=place)

    @classmethod
    def clean_place(cls, place: str, *, name: str) -> str:
        """`s3://bucket/prefix`."""
        url = urlsplit(place)
        parts = url.path.strip("/").split("/")
        if url.scheme != "s3" or not url.netloc or not place.isprintable() or ".." in parts or not all(parts):
            raise BadPath(
                f"{printable(place, limit=200)!r} is not an S3 URL with a prefix",
                hint="Write s3://bucket/prefix; endpoint and region have fields of their own.",
                field="path",
            )
        return f"s3://{url.netloc}/{'/'.join(parts)}"

    @classmethod
    def clean_settings(cls, settings: Mapping[str, str]) -> dict[str, str]:
        """`endpoint_url` and `region`, where they are not the installation's own."""
        kept = {name: value for name, value in settings.items() if value}
        endpoint = urlsplit(kept.get("endpoint_url", "https://s3"))
        if endpoint.scheme not in ("http", "https") or not endpoint.hostname or endpoint.username:
            raise BadPath("the endpoint is not http(s)://host[:port]", hint="", field="endpoint_url")
        return kept

    def prove(self, backend: ServingBackend, *, server: str, patience_s: float) -> ReadsHere:
        """An object made just now must turn up as a model in the server's index."""
        there = set(self._objects.folders())
        index = index_of_same_repository(
            backend, self._marker(), server=server, place=self.place, there=there, patience_s=patience_s
        )
        return ReadsHere(index)

    def index(self, backend: ServingBackend) -> tuple[IndexEntry, ...]:
        """As the server tells it."""
        return backend.index()

    def publish(self, *, model: str, version: Delivery) -> Delivered:
        """Sent object by object, each read back; what is there already is compared before the first is sent."""
        check_model_name(model)
        wanted = manifest_of(version)
        there = {one.path: one for one in self._objects.listed(f"{model}/")}
        self._require_own(model, version.number, wanted, there)
        new = {path: file for path, file in wanted.items() if f"{model}/{path}" not in there}
        for path, file in new.items():
            self._objects.upload(f"{model}/{path}", file.source, sha256=file.sha256)
        shared = tuple(path for path, file in new.items() if file.is_shared)
        copied = sum(file.size_bytes for file in new.values())
        return Delivered(was_there=not new, copied_bytes=copied, new_shared=shared)

    def has_version(self, *, model: str, version: Delivery) -> bool:
        """Whether every object of it is there, by size."""
        there = {one.path: one.size_bytes for one in self._objects.listed(f"{model}/")}
        return all(there.get(f"{model}/{path}") == file.size_bytes for path, file in manifest_of(version).items())

    def carried(self, versions: Iterable[Delivery]) -> Mapping[str, bytes]:
        """Nothing: servers read the bucket."""
        return {}

    def load_patience_s(self, *, usual_s: float, deadline_s: float) -> float:
        """The usual: the index tells how the load goes on."""
        return usual_s

    def stage_shadow(self, *, model: str, number: int, config_text: str) -> None:
        """A copy of the version, and of what versions share; its configuration last."""
        check_model_name(model)
        home, shadow = f"{model}/", f"{shadow_of(model)}/"
        source = [one for one in self._objects.listed(home) if _belongs(one.path.removeprefix(home), number)]
        if not any(one.path.startswith(f"{home}{number}/") for one in source):
            raise VersionNotPublished(
                f"{self.place}: {model} {number} is not published there", model=model, version=number
            )
        wanted = {shadow + one.path.removeprefix(home): one for one in source}
        there = {one.path: one for one in self._objects.listed(shadow)}
        self._objects.delete([path for path in there if path not in wanted and path != shadow + CONFIG_FILE])
        for path, one in wanted.items():
            if path not in there or there[path].size_bytes != one.size_bytes or there[path].at < one.at:
                self._objects.copy(one.path, path)
        if self._objects.text(shadow + CONFIG_FILE) != config_text:
            self._objects.put_text(shadow + CONFIG_FILE, config_text)

    def remove_shadow(self, *, model: str) -> bool:
        """Its configuration goes first: what is left by a killed worker is no model."""
        check_model_name(model)
        return self._remove_folder(shadow_of(model))

    def write_config(self, *, model: str, text: str) -> bool:
        """config.pbtxt, in one put."""
        check_model_name(model)
        if self._objects.text(f"{model}/{CONFIG_FILE}") == text:
            return False
        self._objects.put_text(f"{model}/{CONFIG_FILE}", text)
        return True

    def remove_config(self, *, model: str) -> bool:
        """A restarted server no longer loads the model."""
        check_model_name(model)
        if self._objects.text(f"{model}/{CONFIG_FILE}") is None:
            return False
        self._objects.delete([f"{model}/{CONFIG_FILE}"])
        return True

    def stamp_ns(self, *, model: str, number: int) -> int | None:
        """The newest LastModified of the version's objects and of those that all versions share."""
        return self.stamps_ns(model=model, numbers=(number,))[number]

    def stamps_ns(self, *, model: str, numbers: Collection[int]) -> Mapping[int, int | None]:
        """All of them from one listing."""
        home = f"{model}/"
        listed = [replace(one, path=one.path.removeprefix(home)) for one in self._objects.listed(home)]
        return {number: _newest_ns(listed, number) for number in numbers}

    def strange_entries(self, *, model: str) -> list[str]:
        """Look-alikes of versions."""
        folders = self._objects.folders(f"{model}/")
        return sorted(name for name in folders if looks_like_version(name) and not is_version_name(name))

    def free_bytes(self) -> int | None:
        """A bucket has no end."""
        return None

    def remove_versions(self, gone: Mapping[str, Collection[int]]) -> list[str]:
        """Those that the persisted configuration does not name."""
        removed = []
        for model, numbers in sorted(gone.items()):
            check_model_name(model)
            there = set(self._objects.folders(f"{model}/"))
            named = (self._objects.text(f"{model}/{CONFIG_FILE}") or "").splitlines()
            for number in sorted(numbers):
                is_named = any(line.strip() == f"versions: {number}" for line in named)
                if str(number) in there and not is_named:
                    self._remove_folder(f"{model}/{number}")
                    removed.append(f"{model}/{number}")
        return removed

    def sweep(self, *, keep_shadows: Collection[str]) -> list[str]:
        """Shadows and markers that nobody made lately, and uploads that nobody ends."""
        now, kept = datetime.now(UTC), {shadow_of(model) for model in keep_shadows}
        stale = []
        for name in self._objects.folders():
            if name.endswith(SHADOW_SUFFIX) and name not in kept:
                newest = max((one.at for one in self._objects.listed(f"{name}/")), default=now)
                if newest < now - LEFTOVER_AGE:
                    self._remove_folder(name)
                    stale.append(name)
        self._objects.abort_uploads(before=now - UPLOAD_AGE)
        return sorted(stale)

    def _remove_folder(self, folder: str) -> bool:
        there = [one.path for one in self._objects.listed(f"{folder}/")]
        config = f"{folder}/{CONFIG_FILE}"
        if config in there:
            self._objects.delete([config])
        self._objects.delete([path for path in there if path != config])
        return bool(there)

    def _require_own(self, model: str, number: int, wanted: Mapping[str, File], there: Mapping[str, Object]) -> None:
        """Nothing else lies under the number, and what lies there is as the manifest says."""
        home = f"{model}/"
        for full, found in there.items():
            path = full.removeprefix(home)
            file = wanted.get(path)
            if file is None:
                if path.startswith(f"{number}/"):
                    raise VersionDiffers(f"{self.place}/{full}: it is not part of this version", path=path)
            elif found.size_bytes != file.size_bytes or not self._objects.has(full, sha256=file.sha256):
                kind = SharedFileDiffers if file.is_shared else VersionDiffers
                raise kind(f"{self.place}/{full}: it has other content", path=path)

    @contextmanager
    def _marker(self) -> Iterator[str]:
        name = f"{MARKER_PREFIX}{secrets.token_hex(8)}{SHADOW_SUFFIX}"
        self._objects.put_text(f"{name}/marker", "")
        try:
            yield name
        finally:
            self._objects.delete([f"{name}/marker"])


def _newest_ns(listed: Iterable[Object], number: int) -> int | None:
    """None when nothing of the version is there."""
    found = [one for one in listed if _belongs(one.path, number)]
    if not any(one.path.startswith(f"{number}/") for one in found):
        return None
    return max(int(one.at.timestamp()) * 1_000_000_000 for one in found)


def _belongs(path: str, number: int) -> bool:
    """Whether an object of a model's folder is the version's, or all versions'."""
    first = path.split("/", 1)[0]
    return first == str(number) or (path != CONFIG_FILE and not looks_like_version(first))
