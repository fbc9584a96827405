"""docs/preflight.md, written from the rules themselves. Pure."""

from apps.serving import backends
from apps.serving.preflight import Rule, Severity

HEAD = """\
# Preflight

Written by `manage.py list_rules` from the rules themselves; a test holds the two equal.

Most failed deployments are a bad directory or a bad config.pbtxt, of which Triton says "failed to poll from model
repository". Conch holds every version against the rules below. Those that need no server are asked when a version is
uploaded: an error rejects it (`rules_broken`). All are asked when it is promoted, for every server it would go to, from
what is known by then: an **error** blocks (`409 preflight_failed`), a **warning** asks (`409 preflight_warnings`, then
again with `confirm: ["warnings"]`), a **note** is told. The version's page shows all of it beforehand, and so does
`GET /api/v1/models/{m}/versions/{n}/report?environment=`. The worker asks the rules of disk and release again just
before it publishes.

A Triton does not tell everything over its control API. What somebody knows of a server goes into its labels:

| label | says |
|---|---|
| `backends` | the backends it has, separated by spaces; what is not among them is missing |
| `gpus` | how many GPUs it has, 0 for none |
| `memory_gib` | how much memory a model may take there |

Without the label `backends`, a backend counts as there once a version with it has been ready on the server, as missing
once a load said so, as presumed when the usual image has it, and is asked about otherwise.
"""
READING = """
## What cannot be read is refused at once

Whatever breaks the grammar is refused with its line and column, and a word that is none with the one that was meant.
So is what breaks one of these (`config_unparsable`; `overlay_invalid` where an overlay would break it).

| rule | what must hold | why | way out |
|---|---|---|---|
"""
SECTIONS = ((Severity.ERROR, "Errors block"), (Severity.WARNING, "Warnings ask"), (Severity.NOTE, "Notes are told"))


def preflight_document() -> str:
    """The whole page."""
    known = backends.get("triton").CONFIG
    rules = known.rules
    parts = [HEAD, READING]
    parts += [_row(f"`{rule.id}`", rule.what, rule.why, rule.mend) for rule in known.reading_rules]
    for severity, title in SECTIONS:
        parts += [f"\n## {title}\n", "\n| rule | what must hold | why | way out | asked |\n|---|---|---|---|---|\n"]
        parts += [_line(rule) for rule in rules if rule.severity == severity]
    return "".join(parts)


def _line(rule: Rule) -> str:
    return _row(f"`{rule.id}`", rule.what, rule.why, rule.mend, _when(rule))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _when(rule: Rule) -> str:
    if "server" in rule.needs:
        return "per server"
    return "per environment" if "members" in rule.needs else "at the upload"
