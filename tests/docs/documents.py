"""The project's own documents, as tests read them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def text(page: str) -> str:
    """The page as it lies there."""
    return (ROOT / page).read_text(encoding="utf-8")


def prose(page: str) -> str:
    """The page without its code blocks."""
    return _FENCE.sub("", text(page))


def links(page: str) -> list[str]:
    """Targets of the page's links and pictures that lie in this repository."""
    return [target for target in _LINK.findall(prose(page)) if "://" not in target]


def anchors(page: str) -> set[str]:
    """What `#...` can follow the page's name, as GitHub makes it from headings."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose(page)))
    return {heading.strip().replace(" ", "-") for heading in plain}


def section(page: str, heading: str) -> str:
    """What stands under a heading of the second level."""
    return text(page).split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def table(content: str, *, head: str) -> dict[str, list[str]]:
    """The rows of the table whose first heading is `head`: the other cells by the first one, without backticks."""
    lines = content[content.index(f"\n| {head} |") :].strip().splitlines()
    rows = {}
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        first, *others = (cell.strip() for cell in line.strip("|").split("|"))
        assert first.strip("`") not in rows, f"{first} stands twice in the table of {head}s"
        rows[first.strip("`")] = others
    return rows
