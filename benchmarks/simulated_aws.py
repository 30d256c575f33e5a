"""What the simulated AWS costs, in-process under boto3, and moto beside it: each in processes of its own."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.processes import child
from benchmarks.rows import Row

TARGET = "target of this project: 10,000 lives in an hour on two cores (ADR 23)"


def measure() -> Iterator[Row]:
    ours, moto = _told("ours"), _told("moto")
    yield Row(
        "sim.aws.fresh_world", round(ours["fresh"], 4), "CPU-s", 0.1, f"moto 5.2.5: {moto['fresh']:.2g}",
        f"{TARGET}; with its clients and a first call",
    )  # fmt: skip
    how = f"{TARGET}; {ours['calls']:.0f} calls, client included"
    yield Row("sim.aws.life", round(ours["life"], 3), "CPU-s", 0.7, f"moto: {moto['life']:.2g}", how)
    call, peer = (told["life"] / told["calls"] for told in (ours, moto))
    yield Row("sim.aws.call", round(call * 1000, 2), "CPU-ms", 5, f"moto: {peer * 1000:.2g}")
    yield Row("sim.aws.calls_per_second", round(1 / call), "1/s", peer=f"moto: {1 / peer:.0f}")
    large, other = _told("large_ours"), _told("large_moto")
    how = (
        f"growth of a process of its own through 1,000 instances and 7,000 gateways: {large['tagged']:,} tagged "
        f"(moto: {other['tagged']:,}); its peak is {large['peak']:.0f} MB (moto: {other['peak']:.0f})"
    )
    yield Row("sim.aws.memory", round(large["grown"]), "MB", None, f"moto: {other['grown']:.0f}", how)


def _told(program: str) -> dict[str, float]:
    with child(program, of="benchmarks.aws_worlds") as process:
        told: dict[str, float] = process.heard()
        return told
