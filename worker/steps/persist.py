"""Write what serves now into the repository: a server restarted alone comes back right."""

from apps.deployments.selectors import Work
from apps.deployments.states import RunDirection
from worker.context import Context
from worker.outcomes import Done, Outcome


def run(context: Context) -> Outcome:
    """config.pbtxt with the same policy and warm-up as the last load; taken away when nothing is placed.

    Where many servers were tried side by side, the last of them may have left the try's directory to this.
    """
    work = context.work
    if work.run.direction == RunDirection.SETTLE:
        work.home.remove_shadow(model=work.model)
    if work.new is None:
        work.home.remove_config(model=work.model)
        return Done({"versions": [], **_remark(work)})
    _, final = work.sets
    text = work.config_format.render(work.config_of(work.new, final))
    work.home.write_config(model=work.model, text=text)
    return Done({"versions": sorted(final), **_remark(work)})


def _remark(work: Work) -> dict[str, str]:
    """Where nothing can be written, that is said."""
    return {"remark": work.home.forgets} if work.home.forgets else {}
