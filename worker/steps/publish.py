"""Put the version into the repository; once, however many servers read it."""

from worker.context import Context
from worker.outcomes import Done, Outcome


def run(context: Context) -> Outcome:
    """A server sees all of it or nothing."""
    work, new = context.work, context.new
    published = work.home.publish(model=work.model, version=new)
    detail = {"was_there": published.was_there, "copied_bytes": published.copied_bytes}
    # Each makes every loaded version of the model start again, once, at the next load that names it.
    return Done({**detail, "new_shared_files": list(published.new_shared)})
