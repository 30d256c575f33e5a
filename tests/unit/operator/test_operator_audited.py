"""The audit log: a line before and a line after each change, whatever became of it."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from freehold.lifecycle.clock import ManualClock
from freehold.lifecycle.errors import Denied, Unknown
from freehold.lifecycle.port import Call, Effect, InlinePort
from freehold.operator.audit import FileAudit
from freehold.operator.ports import ObjectPort, ThreadPort


def call(effect: Effect = Effect.WRITE, error: BaseException | None = None) -> Call:
    def run() -> str:
        if error is not None:
            raise error
        return "reply"

    return Call("vpc", "create_vpc", effect, run, "vpc a", {"name": "a"})


async def lines(path: Path, *calls: Call) -> list[dict[str, Any]]:
    """What is in the log after these calls."""
    with FileAudit(path, ManualClock()) as audit:
        port = ObjectPort(InlinePort(), "IBMPowerVSCluster default/c1", audit)
        for each in calls:
            try:
                await port.send(each)
            except BaseException as error:
                assert error is not None
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_change_is_on_record_before_it_is_sent_and_after_it_is_answered(tmp_path: Path) -> None:
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
async def test_how_a_change_ended_is_told(tmp_path: Path, error: BaseException, outcome: str) -> None:
    """Who compares the log with the cloud's own must know which changes may have taken effect."""
    found = await lines(tmp_path / "audit", call(error=error))
    assert [line["outcome"] for line in found] == ["sent", outcome]


async def test_a_read_leaves_no_line(tmp_path: Path) -> None:
    assert await lines(tmp_path / "audit", call(Effect.READ), call(Effect.STORE)) == []


async def test_the_log_is_the_operators_alone_and_outlives_it(tmp_path: Path) -> None:
    """A restart adds to it; nobody else on the machine reads it."""
    path = tmp_path / "audit"
    assert len(await lines(path, call())) == 2
    assert len(await lines(path, call())) == 4
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_cancellation_among_several_calls_is_no_result() -> None:
    """It ends the pass; a failure is a result like any other."""

    async def cancelled() -> str:
        raise asyncio.CancelledError

    async def failing() -> str:
        raise Denied("no")

    async def fine() -> str:
        return "fine"

    port = ThreadPort(None)  # type: ignore[arg-type]  # nothing is sent
    fell, stood = await port.all([failing(), fine()])
    assert isinstance(fell, Denied)
    assert stood == "fine"
    with pytest.raises(asyncio.CancelledError):
        await port.all([fine(), cancelled()])
