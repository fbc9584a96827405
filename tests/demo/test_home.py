"""The state folder keeps its secrets to itself and its ports from start to start."""

import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from demo.home import REPOSITORY, Home

TAKE = "import sys; from pathlib import Path; from demo.home import Home; p = Path(sys.argv[1]); Home(p, p).take()"
PORT = TAKE.replace("take()", "port('web')").replace("Home(p", "print(Home(p") + ")"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(state=tmp_path / "state", shared=tmp_path / "shared")
    home.make()
    return home


def elsewhere(code: str, home: Home) -> subprocess.CompletedProcess[str]:
    """Run it in another process, which does not share this one's claims."""
    return subprocess.run([sys.executable, "-c", code, home.state], capture_output=True, text=True, check=False)


def test_a_secret_is_made_once_and_readable_by_its_owner_only(home: Home) -> None:
    first = home.secret("secret_key")

    assert home.secret("secret_key") == first
    assert len(first) >= 50
    assert home.secret_file("secret_key").stat().st_mode & 0o777 == 0o600
    assert home.state.stat().st_mode & 0o777 == 0o700


def test_a_port_is_the_same_at_the_next_start(home: Home) -> None:
    first, second = elsewhere(PORT, home).stdout, elsewhere(PORT, home).stdout

    assert first == second != ""


def test_a_port_that_was_taken_meanwhile_is_replaced(home: Home) -> None:
    first = int(elsewhere(PORT, home).stdout)
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", first))
        taken.listen()

        second = int(elsewhere(PORT, home).stdout)

    assert second != first


def test_a_second_stack_in_one_folder_is_refused(home: Home) -> None:
    home.take()

    refused = elsewhere(TAKE, home)

    assert f"already running in {home.state}" in refused.stderr


def test_conch_home_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "CONCH_HOME", str(tmp_path))

    home = Home.choose(is_bare=True)

    assert (home.state, home.shared) == (tmp_path, tmp_path)


def test_the_bare_stack_keeps_apart_from_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(os.environ, "CONCH_HOME", raising=False)

    demo, bare = Home.choose(is_bare=False), Home.choose(is_bare=True)

    assert demo.state == REPOSITORY / ".conch"
    assert bare.state != demo.state
    assert bare.packages == demo.packages
