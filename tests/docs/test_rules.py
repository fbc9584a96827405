"""Prometheus's rules, the dashboard and the scaling examples are what the tools take, and say what they should."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from apps.metrics.catalogue import CHARTS
from apps.metrics.dashboard import dashboard
from demo.parts.prometheus import find_program
from tests.demo.home import shared_home

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[2]
RULES = ROOT / "compose" / "prometheus" / "rules.yml"
DASHBOARD = ROOT / "compose" / "grafana" / "conch.json"
SCALING = ROOT / "docs" / "autoscaling"


def promtool(*words: str | Path, cwd: Path = ROOT) -> str:
    program = find_program("promtool", packages=shared_home() / "packages")
    done = subprocess.run([program, *words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def recorded() -> set[str]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["record"] for group in groups for rule in group["rules"] if "record" in rule}


def test_promtool_takes_the_rules() -> None:
    assert "rules found" in promtool("check", "rules", RULES)


def test_the_rules_make_of_known_series_what_they_should(tmp_path: Path) -> None:
    shutil.copy(RULES, tmp_path / "rules.yml")
    shutil.copy(HERE / "rules_test.yml", tmp_path)

    assert "SUCCESS" in promtool("test", "rules", "rules_test.yml", cwd=tmp_path)


def test_every_alert_is_shown_to_fire_and_to_stay_silent() -> None:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    alerts = {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule}
    scenes = yaml.safe_load((HERE / "rules_test.yml").read_text())["tests"]
    told = [(one["alertname"], bool(one["exp_alerts"])) for scene in scenes for one in scene.get("alert_rule_test", ())]

    assert {name for name, fires in told if fires} == alerts
    assert {name for name, fires in told if not fires} == alerts


def test_the_dashboard_is_the_catalogue() -> None:
    assert json.loads(DASHBOARD.read_text()) == dashboard(), (
        "run: manage.py grafana_dashboard > compose/grafana/conch.json"
    )


def test_every_chart_is_a_panel_and_every_query_is_promql(tmp_path: Path) -> None:
    panels = [panel for panel in dashboard()["panels"] if panel["type"] == "timeseries"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    variables = {"$__rate_interval": "1m"}
    rules = [
        {"record": f"panel:{number}", "expr": re.sub(r"\$\w+", lambda found: variables.get(found[0], "x"), query)}
        for number, query in enumerate(queries)
    ]
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))

    assert {panel["title"] for panel in panels} == {chart.title for chart in CHARTS.values()}
    assert f"{len(queries)} rules found" in promtool("check", "rules", tmp_path / "panels.yml")


@pytest.mark.parametrize("name", ["keda.yaml", "hpa.yaml"])
def test_scaling_looks_at_a_series_that_the_rules_record(name: str) -> None:
    text = (SCALING / name).read_text()

    assert set(re.findall(r"conch:[\w:]+", text)) <= recorded()
    assert set(re.findall(r"conch:[\w:]+", text))
    assert yaml.safe_load(text)["spec"]["scaleTargetRef"]["name"] == "triton-digits"


def test_the_production_stack_scrapes_conch_itself_and_reads_the_rules() -> None:
    config: dict[str, Any] = yaml.safe_load((ROOT / "compose" / "prometheus.yml").read_text())
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())

    jobs = {job["job_name"]: job for job in config["scrape_configs"]}
    mounts = compose["services"]["prometheus"]["volumes"]
    assert jobs["conch"]["static_configs"] == [{"targets": ["web:8000"]}]
    assert jobs["conch"]["authorization"] == {"credentials_file": "/discovery/sd_token"}
    assert f"./compose/prometheus/rules.yml:{config['rule_files'][0]}:ro" in mounts
