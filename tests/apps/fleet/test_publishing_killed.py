"""A publisher that is killed between any two things it does on the disk: all of the version is there, or nothing."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from apps.fleet.repositories import posix as repositories
from tests.apps.fleet.conftest import tree
from tests.factories.artifacts import SealedArtifact, artifact

CONTENTS = {
    "version/model.py": b"code",
    "version/data/weights.bin": b"\x00" * 3_000_000,
    "shared/labels.txt": b"cat\ndog\n",
}
WHOLE = ["m/3/data/weights.bin", "m/3/model.py", "m/labels.txt"]
TOUCHING = ("open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.scandir", "os.listdir", "os.truncate")
KILLED = 9
MOST = 500


def die_at(event: int, here: Path, act: Callable[[], object]) -> int:
    """Do it in a child process that ends at once, as by SIGKILL, at its n-th touch of the disk; its exit code."""
    child = os.fork()
    if child == 0:
        seen = 0

        def count(name: str, arguments: tuple[object, ...]) -> None:
            nonlocal seen
            if name in TOUCHING and str(here) in str(arguments):
                seen += 1
                if seen == event:
                    os._exit(KILLED)

        sys.addaudithook(count)
        try:
            act()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def publish(root: Path, source: SealedArtifact) -> repositories.Published:
    return repositories.publish_version(root, model="m", number=3, artifact=source.directory, files=source.files)


def test_whenever_it_is_killed_a_server_sees_all_of_the_version_or_none_and_the_next_try_ends_it(
    tmp_path: Path,
) -> None:
    source = artifact(tmp_path / "stored", CONTENTS)
    seen: list[list[str]] = []

    for event in range(1, MOST):
        home = tmp_path / f"try-{event}"
        root = home / "models"
        root.mkdir(parents=True)
        code = die_at(event, home, lambda root=root: publish(root, source))  # type: ignore[misc]
        seen.append(tree(root))
        strange = repositories.strange_entries(root, model="m")
        listed = repositories.listing(root)
        again = publish(root, source)
        shutil.rmtree(home / ".models.staging", ignore_errors=True)
        assert (strange, set(listed) <= {"m"}) == ([], True)
        assert (again.directory, tree(root)) == (root / "m" / "3", WHOLE)
        shutil.rmtree(home)
        if code == 0:
            break
        assert code == KILLED

    assert 10 < len(seen) < MOST
    states = {tuple(one) for one in seen}
    assert states == {(), ("m",), ("m/labels.txt",), tuple(WHOLE)}


def test_whenever_it_is_killed_the_configuration_is_the_old_one_or_the_new(tmp_path: Path) -> None:
    seen: set[str | None] = set()

    for event in range(1, MOST):
        home = tmp_path / f"try-{event}"
        root = home / "models"
        (root / "m" / "3").mkdir(parents=True)
        repositories.write_config(root, model="m", text="old")
        code = die_at(event, home, lambda root=root: repositories.write_config(root, model="m", text="new"))  # type: ignore[misc]
        seen.add(repositories.read_config(root, model="m"))
        shutil.rmtree(home)
        if code == 0:
            break
        assert code == KILLED

    assert seen == {"old", "new"}


def test_whenever_it_is_killed_a_removed_version_is_whole_or_gone(tmp_path: Path) -> None:
    source = artifact(tmp_path / "stored", CONTENTS)
    seen: set[tuple[str, ...]] = set()

    for event in range(1, MOST):
        home = tmp_path / f"try-{event}"
        root = home / "models"
        root.mkdir(parents=True)
        publish(root, source)
        code = die_at(event, home, lambda root=root: repositories.remove_versions(root, gone={"m": {3}}))  # type: ignore[misc]
        seen.add(tuple(tree(root)))
        repositories.remove_versions(root, gone={"m": {3}})
        assert tree(root) == ["m/labels.txt"]
        shutil.rmtree(home)
        if code == 0:
            break
        assert code == KILLED

    assert seen == {tuple(WHOLE), ("m/labels.txt",)}
