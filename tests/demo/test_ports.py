"""Ports that nobody else is given."""

import socket
import subprocess
import sys
from contextlib import closing

from demo.parts.ports import HIGHEST, LOWEST, free_port, free_ports

CHOOSE = "from demo.parts.ports import free_ports; print(*free_ports(200), flush=True); input()"


def test_processes_that_choose_at_once_get_different_ports() -> None:
    words = [sys.executable, "-c", CHOOSE]
    choosers = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    chosen = [port for each in choosers if each.stdout for port in each.stdout.readline().split()]
    for each in choosers:
        each.communicate("\n")

    assert len(set(chosen)) == 800


def test_free_ports_lie_below_the_ephemeral_ones() -> None:
    ports = free_ports(20)

    assert min(ports) >= LOWEST
    assert max(ports) < HIGHEST < 32_768


def test_a_preferred_port_that_is_taken_is_not_given() -> None:
    wanted = free_port()
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", wanted))
        taken.listen()

        given = free_port(preferred=wanted)

    assert given != wanted
