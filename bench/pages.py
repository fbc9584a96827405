"""Server time and query count of each page and each list, in fleets of three sizes."""

import http.client
import json
import time
from typing import Any

from bench.clients import Traffic
from bench.crowd_sizes import ROWS
from bench.figures import Figure, percentile
from bench.stack import Stack, prepare_database
from demo.home import Home
from demo.programs import run_once, web

MODEL = "echo_pages"
BAR_MS = 100
WARM_REQUESTS = 3
# The largest fleet is the one the bar is about.
REQUESTS = {ROWS[0]: 20, ROWS[1]: 20, ROWS[2]: 40}


def measure(stack: Stack) -> tuple[list[Figure], dict[str, Any]]:
    """Two figures for each page and size; the fleets have a database and a web server of their own."""
    stack.add_model(MODEL, versions=1)
    stack.promote(MODEL, 1)
    home = Home(state=stack.home.state / "crowd", shared=stack.home.shared)
    home.make()
    # As after a first upload: what looks into the store looks there in every size.
    (home.state / "artifacts").mkdir()
    variables = stack.variables_of(home)
    prepare_database(home, variables)
    port = home.port("web")
    program = web(home, port=port, variables=variables)
    try:
        program.start()
        with Traffic(stack.home.state, stack.tritons, MODEL):
            samples = {str(rows): _survey(stack, home, variables, size, port) for size, rows in enumerate(ROWS)}
    finally:
        program.stop()
    return _figures(samples), samples


def _survey(stack: Stack, home: Home, variables: dict[str, str], size: int, port: int) -> dict[str, Any]:
    rows = ROWS[size]
    stack.say(f"pages: {rows:,} rows")
    out = home.state / f"survey-{rows}.json"
    grown = f"from bench.crowd_sizes import SIZES; survey(SIZES[{size}], {str(out)!r})"
    command = f"from bench.surveyed import survey; {grown}"
    run_once("survey", ["manage.py", "shell", "--no-imports", "-c", command], home=home, variables=variables)
    found: dict[str, Any] = json.loads(out.read_text())
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Cookie": f"sessionid={found['session']}"}
    for page in found["pages"].values():
        page["ms"] = _time(connection, page["path"], headers, times=REQUESTS[rows])
    connection.close()
    return dict(found["pages"])


def _time(connection: http.client.HTTPConnection, path: str, headers: dict[str, str], *, times: int) -> list[float]:
    """Milliseconds of each request, from the first byte sent to the last received."""
    took_ms = []
    for _ in range(WARM_REQUESTS + times):
        begin_s = time.perf_counter()
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        took_ms.append(round((time.perf_counter() - begin_s) * 1000, 2))
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
    return took_ms[WARM_REQUESTS:]


def _figures(samples: dict[str, Any]) -> list[Figure]:
    smallest = samples[str(ROWS[0])]
    figures = []
    for name in smallest:
        for rows in ROWS:
            page = samples[str(rows)][name]
            p95_ms = round(percentile(page["ms"], 0.95), 1)
            figures.append(Figure(f"{name}_{rows}_p95_ms", p95_ms, "ms", BAR_MS))
            figures.append(Figure(f"{name}_{rows}_queries", page["queries"], "", smallest[name]["queries"]))
    return figures
