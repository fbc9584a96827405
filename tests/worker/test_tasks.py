"""Messages about what is not there."""

import logging

import pytest

from worker import tasks


@pytest.mark.django_db
def test_a_message_about_a_run_that_is_not_there_is_tried_a_few_times_then_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="worker.tasks"):
        ended = tasks.advance_run.apply(kwargs={"run_id": 4711})

    assert ended.state in ("SUCCESS", "RETRY")
    assert [record.getMessage() for record in caplog.records if record.name == "worker.tasks"] == [
        "there is no run 4711, after 4 looks: nothing is done"
    ]
