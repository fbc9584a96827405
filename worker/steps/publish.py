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
    return Done({"was_there": published.was_there, "copied_bytes": published.copied_bytes})
