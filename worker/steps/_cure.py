"""Undo what a failed load does to a strict server: its readiness stays 400 until the same name and number loads once.

Never under the live name: the stand-in would answer clients.
"""

from apps.common.errors import ControlPlaneError
from apps.common.names import shadow_of
from apps.common.text import SHOWN_CHARS, printable
from worker.context import PATIENCE_S, Context

_STAND_IN = b"""
class TritonPythonModel:
    def execute(self, requests):
        return [None for _ in requests]
"""


def cure(context: Context, number: int) -> str:
    """Load a stand-in inline under the shadow's name and the failed number; empty, or why it could not be done."""
    work = context.work
    name = shadow_of(work.model)
    work.home.remove_shadow(model=work.model)
    config = {
        "name": name,
        "backend": "python",
        "max_batch_size": 0,
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [1]}],
        "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [1]}],
        "instance_group": [{"kind": "KIND_CPU", "count": 1}],
        "version_policy": {"specific": {"versions": [number]}},
    }
    try:
        context.backend.load(name, config=config, files={f"{number}/model.py": _STAND_IN}, timeout_s=PATIENCE_S)
    except ControlPlaneError as error:
        return printable(
            f"{work.server.name}: readiness may stay 400 until this number loads or it restarts: {error.message}",
            limit=SHOWN_CHARS,
        )
    return ""
