"""A load of what is READY already, under another configuration: the index says READY before that load is done."""

from collections.abc import Mapping
from typing import Any

from apps.serving.errors import LoadStuck
from worker.context import PATIENCE_S, Context
from worker.outcomes import Wait


def is_applied(context: Context, *, was: Mapping[str, Any]) -> bool:
    """Whether the server runs under the configuration wanted, by its own word; `was` is what it ran under before."""
    running = context.backend.configuration(context.work.model, context.new.number)
    return context.work.config_format.is_applied(running, was=was, wanted=context.new.config)


def is_unheard(context: Context) -> bool:
    """Whether the load should be sent again (`is_sent_again`), because nobody heard what became of it.

    It was let go of early, or its worker was lost. What serves stays READY under the old configuration when such a
    load fails, so only an answer tells why. Sent again it queues behind the first, and then starts nothing.
    """
    since_s = context.recall("let_go_at_s", 0.0 if context.step.lost_workers else None)
    if since_s is None or context.recall("is_sent_again"):
        return False
    return bool(context.seconds_in_step() - since_s >= PATIENCE_S)


def patience(context: Context) -> Wait:
    """To be called again; LoadStuck past the model's deadline."""
    work = context.work
    if context.seconds_in_step() > work.load_deadline_s:
        raise LoadStuck(
            f"{work.server.name}: {work.model} has not taken its new configuration for over {work.load_deadline_s} s; "
            "it still serves under the old one"
        )
    return Wait(context.poll_s, f"{work.server.name} brings {work.model} up under another configuration")
