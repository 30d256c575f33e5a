"""The audit log: a line before and a line after each change, whatever its result."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from freehold.engine.clock import ManualClock
from freehold.engine.errors import Denied, Unknown
from freehold.engine.port import Call, Effect, InlinePort, run_together
from freehold.engine.secret_values import SecretValue
from freehold.providers.access.audit import FileAudit
from freehold.providers.access.ports import ObjectPort


def call(effect: Effect = Effect.WRITE, error: BaseException | None = None) -> Call:
    def run() -> str:
        if error is not None:
            raise error
        return "reply"

    return Call("vpc", "create_vpc", effect, run, "vpc a", {"name": "a"})


async def lines(path: Path, *calls: Call) -> list[dict[str, Any]]:
    """The lines of the log after these calls."""
    with FileAudit(path, ManualClock()) as audit:
        port = ObjectPort(InlinePort(), "IBMPowerVSCluster default/c1", audit)
        for each in calls:
            try:
                await port.send(each)
            except BaseException as error:
                assert error is not None
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_change_is_logged_before_it_is_sent_and_after_it_is_answered(tmp_path: Path) -> None:
    sent, done = await lines(tmp_path / "audit", call())
    assert (sent["outcome"], sent["request"], done["outcome"]) == ("sent", {"name": "a"}, "done")
    for line in (sent, done):
        assert (line["object"], line["call"], line["resource"]) == (
            "IBMPowerVSCluster default/c1",
            "vpc.create_vpc",
            "vpc a",
        )


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(Denied("no"), "refused", id="the cloud refused: it did not happen"),
        pytest.param(Unknown("lost"), "unknown", id="the reply was lost: it may have happened"),
        pytest.param(asyncio.CancelledError(), "unknown", id="it was cut off: it may have happened"),
        pytest.param(RuntimeError("a defect"), "unknown", id="a defect of ours: it may have happened"),
    ],
)
async def test_the_result_of_a_change_is_logged(tmp_path: Path, error: BaseException, outcome: str) -> None:
    """A reader who compares the log with that of the cloud must know which changes may have taken effect."""
    found = await lines(tmp_path / "audit", call(error=error))
    assert [line["outcome"] for line in found] == ["sent", outcome]


async def test_a_read_leaves_no_line(tmp_path: Path) -> None:
    assert await lines(tmp_path / "audit", call(Effect.READ), call(Effect.STORE)) == []


async def test_only_the_operator_may_read_the_log_and_a_restart_appends_to_it(tmp_path: Path) -> None:
    """Other users of the machine cannot read it."""
    path = tmp_path / "audit"
    assert len(await lines(path, call())) == 2
    assert len(await lines(path, call())) == 4
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_cancellation_among_several_calls_is_no_result() -> None:
    """A cancellation ends the pass; a failure is a result like any other."""

    async def cancelled() -> str:
        raise asyncio.CancelledError

    async def failing() -> str:
        raise Denied("no")

    async def fine() -> str:
        return "fine"

    fell, stood = await run_together([failing(), fine()])
    assert isinstance(fell, Denied)
    assert stood == "fine"
    with pytest.raises(asyncio.CancelledError):
        await run_together([fine(), cancelled()])


@pytest.mark.parametrize("error", [Denied("bad: hunter2-hunter2"), RuntimeError("hunter2-hunter2")], ids=repr)
async def test_a_secret_value_is_in_no_line_and_in_no_error(tmp_path: Path, error: Exception) -> None:
    """A driver was careless with what it logs, and the cloud repeats the request."""
    hidden = (SecretValue("node-data/value", b"hunter2-hunter2"),)
    careless = call(error=error)._replace(detail={"name": "a", "data": "x hunter2-hunter2"}, hidden=hidden)
    logged = await lines(tmp_path / "audit", careless)
    assert "hunter2" not in json.dumps(logged)
    assert logged[0]["request"] == {"name": "a", "data": "x (secret node-data/value)"}
    assert "hunter2" not in str(error)
