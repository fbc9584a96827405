"""docs/preflight.md is what the rules say."""

from apps.registry.document import preflight_document
from tests.docs import documents


def test_the_rules_are_written_down_as_they_are() -> None:
    written = documents.text("docs/preflight.md")

    assert written == preflight_document(), "run: manage.py list_rules > docs/preflight.md"
