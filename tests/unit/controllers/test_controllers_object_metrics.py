"""What is told of objects and queues, with which labels; and that the shipped alerts and the dashboard fit to it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from freehold.controllers.controller import Controller, Done, RequeueAfter, Result
from freehold.controllers.metrics import VERDICTS, Metrics, classify_end
from freehold.controllers.object_metrics import CONDITIONS, KINDS, REASONS, count_objects
from freehold.controllers.observers import Standing
from freehold.controllers.workqueue import Priority
from freehold.engine import errors as cloud_errors
from freehold.engine.errors import Throttled
from freehold.engine.port import Call, Effect, InlinePort
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.errors import Conflict, ServerUnavailable
from freehold.kube.resources import Json, Key
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.served_resources import resource_of
from harness.monitoring import FOLDER, Scrape, expressions, find_names
from harness.virtual_time import VirtualTime

KIND = POWERVS_CLUSTER.kind
NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC).timestamp()


def condition(type_: str, status: str, reason: str = "Ready") -> Json:
    return {"type": type_, "status": status, "reason": reason, "message": "secret-looking message"}


def stored(name: str, *conditions: Json, deleted: str = "", **status: Any) -> Json:
    metadata: Json = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", "resourceVersion": "1"}
    if deleted:
        metadata["deletionTimestamp"] = deleted
    return {"metadata": metadata, "status": {"conditions": list(conditions), **status}}


async def idle(key: Key) -> Result:
    return Done()


def controller(*objects: Json) -> Controller:
    found = Controller(
        KubeClient(Connection("http://127.0.0.1:1")), resource_of(POWERVS_CLUSTER), idle, time=VirtualTime()
    )
    for each in objects:
        found.find_reflector(found.resource)._objects[Key("default", each["metadata"]["name"])] = each
    return found


def scraped(metrics: Metrics) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
    }


def test_objects_are_counted_by_condition_and_status() -> None:
    found = count_objects(
        [
            stored("a", condition("Ready", "True"), condition("VPCReady", "True")),
            stored("b", condition("Ready", "False"), condition("VPCReady", "False")),
            stored("c"),
            {"metadata": {"name": "without a status"}},
        ],
        NOW,
    )
    assert found.conditions == {
        ("Ready", "True"): 1, ("Ready", "False"): 1, ("Ready", "Unknown"): 2,
        ("VPCReady", "True"): 1, ("VPCReady", "False"): 1,
    }  # fmt: skip


def test_deletes_are_counted_by_what_they_wait_for_and_the_oldest_is_told() -> None:
    found = count_objects(
        [
            stored("a", condition("Deleting", "True", "InUse"), deleted="2026-11-28T11:00:00Z"),
            stored("b", condition("Ready", "False", "KeyMissing"), deleted="2026-11-28T11:59:00Z", phase="Blocked"),
            stored("c", deleted="nonsense"),
        ],
        NOW,
    )
    assert found.deletes == {"InUse": 1, "KeyMissing": 1, "other": 1}
    assert found.oldest_delete == 3600.0
    assert not found.blocked, "who deletes it knows already"


def test_blocked_objects_are_counted_by_the_reason_of_their_resource_or_of_ready() -> None:
    rows = [{"state": "Ready"}, {"state": "Blocked", "reason": "QuotaReached"}]
    found = count_objects(
        [
            stored("a", condition("Ready", "False", "NotReady"), phase="Blocked", resources=rows),
            stored("b", condition("Ready", "False", "NoCredentials"), phase="Blocked"),
            stored("c", condition("Ready", "False", "NotReady"), phase="Progressing"),
        ],
        NOW,
    )
    assert found.blocked == {"QuotaReached": 1, "NoCredentials": 1}


def test_what_others_write_into_a_status_is_no_label() -> None:
    """Types and reasons are text that anybody with access to the object may write: labels without an end."""
    rows = [{"state": "Blocked", "reason": "MyReason"}]
    found = count_objects(
        [stored(f"o{n}", condition(f"Mine{n}", "Perhaps"), phase="Blocked", resources=rows) for n in range(5)], NOW
    )
    assert found.conditions == {("other", "other"): 5, ("Ready", "Unknown"): 5}
    assert found.blocked == {"other": 5}


async def test_labels_are_kinds_conditions_and_reasons_never_names_or_messages() -> None:
    metrics = Metrics()
    objects = [
        stored("canary", condition("Ready", "False", "InvalidSpec"), phase="Blocked"),
        stored("canary2", condition("Deleting", "True", "InUse"), deleted="2026-11-28T11:00:00Z"),
    ]
    metrics.objects.read_controllers = lambda: [controller(*objects)]
    metrics.note_pass(KIND, Throttled("canary"), 1.0)
    metrics.count_review("canary", "canary")
    text = generate_latest(metrics.registry).decode()
    assert "canary" not in text and "secret-looking" not in text and "uid-of" not in text
    assert 'freehold_webhook_requests_total{kind="other",verdict="other"} 1.0' in text


async def test_the_queue_is_told_with_the_age_of_its_oldest_object(monkeypatch: pytest.MonkeyPatch) -> None:
    found, metrics, now = controller(), Metrics(), [100.0]
    monkeypatch.setattr("freehold.controllers.workqueue.wall.monotonic", lambda: now[0])
    metrics.objects.read_controllers = lambda: [found]
    assert scraped(metrics)["freehold_oldest_unserved_seconds", (KIND,)] == 0
    found.queue.add(Key("default", "a"), Priority.BACKLOG)
    now[0] = 110.0
    found.queue.add(Key("default", "b"))
    found.queue.add(Key("default", "a"))  # it is in a hurry now, and has waited all the same
    now[0] = 130.0
    told = scraped(metrics)
    assert told["freehold_queue_depth", (KIND,)] == 2
    assert told["freehold_oldest_unserved_seconds", (KIND,)] == 30
    taken = await found.queue.get()
    assert taken == Key("default", "b")
    assert scraped(metrics)["freehold_oldest_unserved_seconds", (KIND,)] == 30
    await found.queue.get()
    assert scraped(metrics)["freehold_oldest_unserved_seconds", (KIND,)] == 0, "a worker has it in hand"


async def test_a_scrape_beside_a_loop_that_changes_everything_fails_never() -> None:
    """It runs in a thread of its own."""
    found, metrics, failures = controller(), Metrics(), []
    metrics.objects.read_controllers = lambda: [found]
    cache, over = found.find_reflector(found.resource)._objects, threading.Event()

    def scrape() -> None:
        try:
            for _ in range(100):
                generate_latest(metrics.registry)
        except Exception as failure:
            failures.append(failure)
        finally:
            over.set()

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=scrape)
    thread.start()
    turn = 0
    while not over.is_set():
        turn += 1
        key = Key("default", f"o{turn % 700}")
        cache.pop(key, None) or cache.__setitem__(key, stored(key.name, condition("Ready", "True")))
        found.queue.add(key)
        if turn % 3 == 0 and (taken := await found.queue.get()):
            found.queue.finish(taken)
    sys.setswitchinterval(usual)
    await asyncio.to_thread(thread.join)
    assert not failures


@pytest.mark.parametrize(
    ("end", "word"),
    [
        (Done(), "done"),
        (RequeueAfter(1.0), "waits"),
        (Conflict("x"), "conflict"),
        (ServerUnavailable("x"), "api_error"),
        (Throttled("x"), "cloud_error"),
        (OSError(28, "no space"), "local_error"),
        (KeyError("x"), "defect"),
    ],
)
def test_each_end_of_a_reconcile_has_one_word(end: Result | Exception, word: str) -> None:
    metrics = Metrics()
    metrics.note_pass(KIND, end, 2.0)
    assert classify_end(end) == word
    assert scraped(metrics)["freehold_reconcile_seconds_count", (KIND, word)] == 1


async def test_a_controller_tells_of_each_reconcile() -> None:
    ends: list[tuple[Result | Exception, float]] = []

    async def reconcile(key: Key) -> Result:
        if key.name == "bad":
            raise ValueError("a defect")
        return RequeueAfter(9.0)

    found = controller()
    found._reconcile = reconcile
    found.on_pass = lambda end, seconds: ends.append((end, seconds))
    working = asyncio.create_task(found._work())
    for name in ("good", "bad"):
        found.queue.add(Key("default", name))
        await asyncio.sleep(0)
        await found.queue.wait_until_drained()
    while len(ends) < 2:
        await asyncio.sleep(0)
    working.cancel()
    assert [classify_end(end) for end, _ in ends] == ["waits", "defect"]
    assert all(seconds >= 0 for _, seconds in ends)


def test_without_an_election_a_process_leads_and_a_follower_says_so() -> None:
    metrics = Metrics()
    told = scraped(metrics)
    assert [told[name, ()] for name in ("freehold_leader", "freehold_shards_held", "freehold_shards")] == [1, 1, 1]
    metrics.note_standing(Standing(leads=False, shards_held=0, shards=12, rate_share=0.25))
    told = scraped(metrics)
    assert [told[name, ()] for name in ("freehold_leader", "freehold_shards_held", "freehold_shards")] == [0, 0, 12]
    assert told["freehold_account_rate_share", ()] == 0.25


def test_a_key_ring_that_is_missing_is_told() -> None:
    metrics = Metrics()
    assert scraped(metrics)["freehold_key_ring_ready", ()] == 0
    metrics.objects.read_controllers = lambda: [controller()]
    assert scraped(metrics)["freehold_key_ring_ready", ()] == 1
    metrics.objects.read_ring_problem = lambda: "it is damaged"
    assert scraped(metrics)["freehold_key_ring_ready", ()] == 0


# --- deploy/monitoring -------------------------------------------------------------------------


async def everything() -> Scrape:
    """A scrape in which each metric has a sample."""
    metrics = Metrics()
    metrics.objects.read_controllers = lambda: [
        controller(
            stored("a", condition("Ready", "False"), phase="Blocked"),
            stored("b", condition("Deleting", "True", "InUse"), deleted="2026-11-28T11:00:00Z"),
        )
    ]
    for end in (Done(), RequeueAfter(1.0), Throttled("x"), OSError(), KeyError()):
        metrics.note_pass(KIND, end, 1.0)
    metrics.count_repairs(KIND, 1)
    metrics.note_certificate(NOW)
    metrics.count_review(KIND, "error")
    await metrics.measure_port(InlinePort()).send(Call("vpc", "list", Effect.READ, lambda: None))
    return Scrape.parse(generate_latest(metrics.registry).decode())


async def test_each_expression_can_be_parsed_and_names_what_there_is() -> None:
    scrape, found = await everything(), list(expressions())
    assert len(found) > 25
    problems = {what: scrape.find_problems(expression, whole=True) for what, expression in found}
    assert {what: each for what, each in problems.items() if each} == {}


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("freehold_leeder == 1", "no metric freehold_leeder"),
        ('freehold_queue_depth{name="x"} > 1', "freehold_queue_depth has no label name"),
        ("sum by (name) (freehold_queue_depth)", "no label name to group by"),
    ],
)
async def test_a_wrong_expression_is_found(expression: str, problem: str) -> None:
    assert (await everything()).find_problems(expression, whole=True) == [problem]


def test_values_in_expressions_are_those_that_the_code_has() -> None:
    """An alert for a class that no error has would never fire."""
    ends = (Done(), RequeueAfter(1.0), Conflict(""), ServerUnavailable(""), Throttled(""), OSError(), KeyError())
    classes = {name for name, each in vars(cloud_errors).items() if isinstance(each, type)} | {"ok", "defect"}
    known = {
        "result": {classify_end(each) for each in ends}, "class": classes, "verdict": VERDICTS,
        "condition": CONDITIONS, "status": {"True", "False", "Unknown"}, "reason": REASONS, "kind": KINDS,
    }  # fmt: skip
    for what, expression in expressions():
        for (_, label), values in find_names(expression).values.items():
            assert values <= known[label], what


PROMTOOL = shutil.which("promtool")


@pytest.mark.skipif(PROMTOOL is None, reason="promtool of Prometheus is not on PATH")
def test_alerts_fire_when_they_should() -> None:
    """By Prometheus' own evaluation: leaders that change, restarts, throttling, blocked objects."""
    cases = FOLDER.parents[1] / "tests/data/monitoring/alerts_test.yaml"
    done = subprocess.run([str(PROMTOOL), "test", "rules", str(cases)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_say_what_is_wrong_and_what_to_do() -> None:
    rules = [
        rule for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"] for rule in group["rules"]
    ]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert set(rule["annotations"]) == {"summary", "description"}
        grouped = {"instance", *find_names(rule["expr"]).grouped}
        used = {each for text in rule["annotations"].values() for each in re.findall(r"\$labels\.(\w+)", text)}
        assert used <= grouped, rule["alert"]


def test_panels_of_the_dashboard_do_not_overlap() -> None:
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


PAGE = FOLDER.parents[1] / "docs/howto/monitoring.md"
TAGS = FOLDER.parents[1] / "docs/reference/metadata-compat.md"


async def test_the_page_lists_each_metric_with_its_labels() -> None:
    """Those of tags are listed on their own page."""
    metrics = Metrics()
    page = dict(_rows(PAGE.read_text(), "## Metrics"))
    told = {name: labels for names, labels in page.items() for name in re.findall(r"`(\w+)`", names)}
    of_tags = set(re.findall(r"^\| `(freehold_\w+)`", TAGS.read_text(), re.MULTILINE))
    scrape = await everything()
    for family in metrics.registry.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        if name.startswith("process_"):
            continue
        assert name in told or name in of_tags, name
        if name in told:
            sample = f"{name}_count" if family.type == "histogram" else name
            assert set(filter(None, told[name].split(", "))) == scrape.labels[sample], name
    assert {name for name in told if name.startswith("freehold_")} <= scrape.families


def test_the_page_says_what_to_do_about_each_alert() -> None:
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    shown = {
        name for names, _ in _rows(PAGE.read_text(), "## Alerts") for name in re.findall(r"`(Freehold\w+)`", names)
    }
    assert shown == {rule["alert"] for group in rules for rule in group["rules"]}


def _rows(page: str, heading: str) -> Iterator[tuple[str, str]]:
    """Yield the first two cells of each row of the first table below a heading."""
    for line in page.partition(f"{heading}\n")[2].partition("\n## ")[0].splitlines():
        if line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            yield cells[0], cells[1]
