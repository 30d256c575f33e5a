"""The log: its two forms, what a line is about, and what never gets into it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import botocore.session
import pytest

from freehold.controllers.controller import Controller, Result
from freehold.controllers.logged_port import LoggedPort
from freehold.controllers.logs import OURS, LogContext, LogFormat, LogOptions, log_about, set_up_logs
from freehold.engine.errors import Denied
from freehold.engine.port import Call, Effect
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import CONFIG_MAPS, Key
from freehold.providers.access.ports import ThreadPort
from harness.virtual_time import VirtualTime

CANARY = "canary-7c1f-secret"
OURSELVES = logging.getLogger("freehold.controllers.somewhere")

SetUp = Callable[..., io.StringIO]


@pytest.fixture
def set_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[SetUp]:
    """Set up the log into a text; afterwards pytest's own is as before."""
    monkeypatch.delenv("FREEHOLD_DEBUG", raising=False)
    root = logging.getLogger()
    handlers, levels = root.handlers[:], {name: logging.getLogger(name).level for name in ("", *OURS)}

    def apply(level: str = "info", form: LogFormat = LogFormat.TEXT) -> io.StringIO:
        text = io.StringIO()
        root.handlers = []  # pytest's are not ours to close
        set_up_logs(LogOptions(level, form), [logging.StreamHandler(text)])
        return text

    yield apply
    root.handlers = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def test_a_line_of_text_says_what_it_is_about(set_up: SetUp) -> None:
    text = set_up()
    with log_about(LogContext("AWSCluster default/a", "uid-1")):
        OURSELVES.warning("the %s", "thing")
    OURSELVES.info("later")
    first, second = text.getvalue().splitlines()
    assert first.endswith(
        'WARNING freehold.controllers.somewhere: the thing [object="AWSCluster default/a" uid="uid-1"]'
    )
    assert second.endswith("INFO freehold.controllers.somewhere: later")


def test_a_line_of_json_has_the_same_in_fields(set_up: SetUp) -> None:
    text = set_up(form=LogFormat.JSON)
    with log_about(LogContext("AWSCluster default/a", "uid-1", "ec2.create_vpc#7")):
        try:
            raise ValueError("two\nlines")
        except ValueError:
            OURSELVES.exception("it failed")
    (line,) = map(json.loads, text.getvalue().splitlines())
    assert line.pop("time").endswith("+00:00")
    assert "ValueError: two" in line.pop("traceback")
    assert line == {
        "level": "error", "logger": "freehold.controllers.somewhere", "message": "it failed",
        "object": "AWSCluster default/a", "uid": "uid-1", "call": "ec2.create_vpc#7",
    }  # fmt: skip


@pytest.mark.parametrize("form", LogFormat)
def test_control_characters_from_outside_do_not_reach_a_terminal(set_up: SetUp, form: LogFormat) -> None:
    """Nor does a message begin a line that looks like another one."""
    text = set_up(form=form)
    try:
        raise ValueError("\x1b[31mred\x9b")
    except ValueError:
        OURSELVES.exception("a\x1b]0;title\x07\n2026 ERROR forged")
    written = text.getvalue()
    assert not set(written) & {"\x1b", "\x07", "\x9b"}
    assert not any(line.startswith("2026 ERROR forged") for line in written.splitlines())


@pytest.mark.parametrize(("level", "written"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_the_level_is_the_least_that_is_written(set_up: SetUp, level: str, written: int) -> None:
    text = set_up(level)
    for each in ("debug", "info", "warning", "error"):
        getattr(OURSELVES, each)("x")
    assert len(text.getvalue().splitlines()) == written


@pytest.mark.parametrize(
    "name", ["botocore.auth", "urllib3.connectionpool", "ibm-cloud-sdk-core", "aiohttp", "asyncio"]
)
def test_debug_lines_of_libraries_are_never_written(set_up: SetUp, name: str) -> None:
    """Also where somebody has set the level of a library's logger by itself."""
    text, logger = set_up("debug"), logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        logger.debug("Authorization: %s", CANARY)
        logger.info("Authorization: %s", CANARY)
        logger.warning("a warning")
    finally:
        logger.setLevel(before)
    assert CANARY not in text.getvalue() and "a warning" in text.getvalue()


def test_a_signed_request_of_the_sdk_is_not_written_at_debug_level(set_up: SetUp) -> None:
    """What botocore tells of it at debug level has the credentials."""
    text, session = set_up("debug"), botocore.session.Session()
    client = session.create_client(
        "sts", "us-east-1", aws_access_key_id=f"id-{CANARY}", aws_secret_access_key=CANARY, aws_session_token=CANARY
    )
    client.generate_presigned_url("get_caller_identity")
    OURSELVES.debug("done")
    assert "done" in text.getvalue() and CANARY not in text.getvalue()


# --- the context of a pass and of a call -------------------------------------------------------


async def test_lines_of_a_pass_have_its_object_and_those_beside_have_none(set_up: SetUp) -> None:
    text = set_up(form=LogFormat.JSON)

    async def reconcile(key: Key) -> Result:
        OURSELVES.info("before a wait")
        await asyncio.sleep(0)
        OURSELVES.info("after it")
        raise ValueError("a defect")

    found = Controller(KubeClient(Connection("http://127.0.0.1:1")), CONFIG_MAPS, reconcile, time=VirtualTime())
    cache = found.find_reflector(CONFIG_MAPS)._objects
    workers = [asyncio.create_task(found._work()) for _ in range(2)]
    for name in ("a", "b"):
        cache[Key("default", name)] = {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}}
        found.queue.add(Key("default", name))
    while found.queue.scheduled < 2:
        await asyncio.sleep(0)
    OURSELVES.info("outside")
    for each in workers:
        each.cancel()
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    assert [(line.get("object"), line.get("uid")) for line in lines if line["message"] == "outside"] == [(None, None)]
    for name in ("a", "b"):
        of = [line["message"] for line in lines if line.get("object") == f"ConfigMap default/{name}"]
        assert len(of) == 3 and of[:2] == ["before a wait", "after it"] and "unexpected failure" in of[2]
        assert {line["uid"] for line in lines if line.get("object") == f"ConfigMap default/{name}"} == {f"uid-{name}"}


def call(run: Callable[[], Any], effect: Effect = Effect.WRITE) -> Call:
    return Call("ec2", "create_vpc", effect, run, subject="vpc main", detail={"Password": CANARY})


async def test_lines_of_a_call_have_its_id_also_in_the_thread_that_sends_it(set_up: SetUp) -> None:
    text = set_up("debug", LogFormat.JSON)
    with ThreadPoolExecutor(1) as pool, log_about(LogContext("AWSCluster default/a", "uid-1")):
        port = LoggedPort(ThreadPort(pool))
        for _ in range(2):
            await port.send(call(lambda: logging.getLogger("urllib3.connectionpool").warning("Retrying")))
        OURSELVES.info("after it")
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    first, second = lines[:2], lines[2:4]
    for of in (first, second):
        assert {line["object"] for line in of} == {"AWSCluster default/a"}
        assert of[0]["message"] == "Retrying" and of[1]["message"].startswith("write of vpc main: ok in ")
        assert of[0]["call"] == of[1]["call"] and of[0]["call"].startswith("ec2.create_vpc#")
    assert first[0]["call"] != second[0]["call"]
    assert "call" not in lines[4]


async def test_a_call_that_fails_is_told_by_class_and_code_without_its_text_and_request(set_up: SetUp) -> None:
    text, error = set_up("debug"), Denied(f"refused {CANARY}", code="AccessDenied", request_id="req-1")

    def run() -> None:
        raise error

    with ThreadPoolExecutor(1) as pool, pytest.raises(Denied) as raised:
        await LoggedPort(ThreadPort(pool)).send(call(run))
    assert raised.value is error
    assert "write of vpc main: Denied AccessDenied req-1 in " in text.getvalue()
    assert CANARY not in text.getvalue()


async def test_a_write_of_our_own_object_is_no_call(set_up: SetUp) -> None:
    text = set_up("debug")

    async def store() -> str:
        return "stored"

    with ThreadPoolExecutor(1) as pool:
        assert await LoggedPort(ThreadPort(pool)).send(call(store, Effect.STORE)) == "stored"
    assert text.getvalue() == ""
