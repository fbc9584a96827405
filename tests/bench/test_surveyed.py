"""The bench of pages walks every page and list there is, so a new one must have its row in the crowd."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from bench.crowd_sizes import SIZES
from bench.surveyed import survey


@pytest.mark.django_db
def test_every_page_and_list_can_be_surveyed(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("password", "token", "sd-token")]
    call_command("bootstrap", "--username=admin", *(f"--{file.name}-file={file}" for file in files))
    out = tmp_path / "survey.json"

    survey(SIZES[0], str(out))

    found = json.loads(out.read_text(encoding="utf-8"))
    assert {"fleet", "model", "version", "rollout", "search", "trial", "api_rollouts", "api_trials"} <= set(
        found["pages"]
    )
    assert all(page["queries"] > 0 for page in found["pages"].values())
