"""Write what serves now into the repository: a server restarted alone comes back right."""

from apps.deployments.states import RunDirection
from apps.fleet import repositories
from worker.context import Context
from worker.outcomes import Done, Outcome


def run(context: Context) -> Outcome:
    """config.pbtxt with the same policy and warm-up as the last load; taken away when nothing is placed.

    Where many servers were tried side by side, the last of them may have left the try's directory to this.
    """
    work = context.work
    if work.run.direction == RunDirection.SETTLE:
        repositories.remove_shadow(work.root, model=work.model)
    if work.new is None:
        repositories.remove_model_config(work.root, model=work.model)
        return Done({"versions": []})
    _, final = work.sets
    text = work.config_format.render(work.config_of(work.new, final))
    repositories.write_config(work.root, model=work.model, text=text)
    return Done({"versions": sorted(final)})
