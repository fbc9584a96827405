"""An artifact store of each test's own, and what can be asked of it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.common.actor import COMMAND, Actor
from apps.registry import services
from apps.registry.models import Upload, Version
from apps.registry.services import Announced, Wanted
from tests.apps.registry import fetches, sending
from tests.apps.registry.fetches import Ask
from tests.apps.registry.sending import OPERATOR, Begin
from tests.factories.archives import upload
from tests.fixtures.https import Site, https_site


@pytest.fixture
def store(tmp_path: Path, settings: Settings) -> Path:
    directory = tmp_path / "artifacts"
    directory.mkdir()
    settings.CONCH = {**settings.CONCH, "artifacts_dir": directory}
    return directory


@pytest.fixture
def registered(db: None) -> str:
    """A model called demo."""
    return services.register_model(COMMAND, name="demo").name


@pytest.fixture
def receive(store: Path, registered: str) -> Callable[..., Version]:
    """Receives bytes as the next version of demo."""
    return lambda content, **asked: services.add_version(COMMAND, model="demo", upload=upload(content), **asked)


@pytest.fixture
def arrive(receive: Callable[..., Version]) -> Callable[..., Version]:
    """Receives bytes and checks them."""

    def arrive(content: bytes, **asked: object) -> Version:
        version = receive(content, **asked)
        services.check_version(version.pk, now=timezone.now())
        version.refresh_from_db()
        return version

    return arrive


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with https_site(tmp_path_factory.mktemp("https")) as site:
        yield site


@pytest.fixture
def site(running: Site) -> Site:
    running.answers.clear()
    running.asked.clear()
    return running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a good archive in it, one without bytes, and one that is too large."""
    root = tmp_path / "in"
    root.mkdir()
    (root / "empty.zip").touch()
    (root / "large.zip").write_bytes(bytes((4 << 20) + 1))
    (root / "x.zip").write_bytes(fetches.CONTENT)
    return root


@pytest.fixture
def ask(store: Path, registered: str, root: Path, site: Site, settings: Settings) -> Ask:
    """Asks for the next version of demo."""
    allowed = {
        "roots": [str(root)],
        "hosts": [site.place],
        "networks": ["127.0.0.0/8"],
        "certificates": str(site.certificate),
    }
    fetch = {**settings.CONCH["fetch"], **allowed}
    settings.CONCH = {**settings.CONCH, "fetch": fetch, "max_upload_bytes": 4 << 20}

    def ask(source: str, **asked: Any) -> Version:
        sha256, actor = asked.pop("sha256", ""), asked.pop("actor", COMMAND)
        model = asked.pop("model", "demo")
        return services.add_version_from(actor, model=model, source=source, sha256=sha256, wanted=Wanted(**asked))

    return ask


@pytest.fixture
def begin(store: Path, registered: str) -> Begin:
    """Begins an upload of a good archive."""

    def begin(content: bytes = sending.CONTENT, actor: Actor = OPERATOR, **asked: Any) -> Upload:
        announced = Announced(len(content), asked.pop("sha256", ""), asked.pop("fingerprint", ""))
        may_skip = asked.pop("may_skip_bytes", False)
        model = asked.pop("model", "demo")
        return services.begin_upload(
            actor, model=model, announced=announced, wanted=Wanted(**asked), may_skip_bytes=may_skip
        )

    return begin


def files_under(directory: Path) -> list[str]:
    """Every file there, relative."""
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir())
