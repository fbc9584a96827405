"""Put the version's directory into the repository; once, however many servers read it."""

from apps.fleet import repositories
from worker.context import Context
from worker.outcomes import Done, Outcome


def run(context: Context) -> Outcome:
    """Stage beside the root, then rename: a server sees all of it or nothing."""
    work, new = context.work, context.new
    published = repositories.publish_version(
        work.root, model=work.model, number=new.number, artifact=new.artifact, files=new.files
    )
    detail = {"was_there": published.was_there, "copied_bytes": published.copied_bytes}
    # Each makes every loaded version of the model start again, once, at the next load that names it.
    return Done({**detail, "new_shared_files": list(published.new_shared)})
