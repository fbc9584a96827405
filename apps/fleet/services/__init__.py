"""Changing environments, repositories and servers, and keeping what was seen on them."""

from apps.fleet.services.environments import add_environment, add_repository, update_environment
from apps.fleet.services.health import record_part
from apps.fleet.services.introduction import introduce, recheck_server, sweep_servers
from apps.fleet.services.observation import observe, record_load
from apps.fleet.services.servers import add_server, cordon_server, retire_server, uncordon_server, update_server
from apps.fleet.services.wishes import ask_to_reconcile, settle_wishes

__all__ = [
    "add_environment",
    "add_repository",
    "add_server",
    "ask_to_reconcile",
    "cordon_server",
    "introduce",
    "observe",
    "recheck_server",
    "record_load",
    "record_part",
    "retire_server",
    "settle_wishes",
    "sweep_servers",
    "uncordon_server",
    "update_environment",
    "update_server",
]
