"""A page over the answers of ``tests/data/page`` (made by the operator's own code of simulated objects), without one.

Every view has something to show. ``spoiled`` puts into each name, message, tag and command what nobody wants to see.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from aiohttp import web

from harness.page_fixture import STRANGE, TOKEN, Fixture, World
from harness.serving import in_a_thread
from harness.source_state import ROOT

Json = dict[str, Any]

SAMPLES = ROOT / "tests/data/page"
_CLUSTER, _STUCK = "#/object/AWSCluster/team-a/staging", "#/object/AWSCluster/team-b/legacy"
VIEWS = {
    "objects": "#/",
    "creating": _CLUSTER,
    "stuck": _STUCK,
    "ready": "#/object/AWSCluster/default/prod",
    "blocked": "#/object/AWSCluster/team-b/big",
    "powervs": "#/object/IBMPowerVSCluster/ibm/power",
    "machine": "#/object/AWSMachine/default/worker-1",
    "deletion": "#/object/AWSCluster/default/prod/deletion",
    "deletion-stuck": f"{_STUCK}/deletion",
    "tags": "#/tags",
    "audit": "#/audit",
}
"""Routes of the page, by what is seen there."""

_FREE = frozenset({
    "message", "reason", "what", "do", "command", "plan_command", "why", "id", "proof", "tag", "is", "was", "wanted",
    "before", "after", "by", "call", "outcome", "version", "place", "cluster", "account", "endpoint", "owner", "field",
})  # fmt: skip
"""Fields whose text somebody else may choose; of a name, the page says more than it (a key refers to others)."""
_FREE_LISTS = frozenset({"notes", "open", "problems"})


def spoil(value: Any) -> Any:
    """Return an answer with ``STRANGE`` in all that is text of somebody else."""
    if isinstance(value, list):
        return [spoil(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: STRANGE if isinstance(each, str) and each and name in (_FREE | {"name"})
        else [STRANGE for _ in each] if name in _FREE_LISTS and isinstance(each, list)
        else spoil(each)
        for name, each in value.items()
    }  # fmt: skip


class Samples(Fixture):
    """The routes, over the samples. ``more``: made-up objects beside them."""

    def __init__(self, more: int, *, spoiled: bool) -> None:
        listed = _read("objects")
        self.world = World(more, "still")
        self.world.begun_at = listed["now"]
        for row in self.world.rows.values():
            for name in ("since", "created", "deleting_since"):
                row[name] = row[name] and row[name] - 1_790_000_000.0 + listed["now"]
            for need in row["needs"]:
                need["since"] = row["since"]
        super().__init__(self.world)
        self._spoil = spoil if spoiled else lambda value: value
        self._details = {each["row"]["key"]: (name, each) for name, each in _read_details()}
        self.world.rows = {row["key"]: self._spoil(row) for row in (*listed["rows"], *self.world.rows.values())}

    async def detail(self, request: web.Request) -> web.Response:
        _, detail = self._find(request)
        return web.json_response(self._spoil(detail))

    async def deletion(self, request: web.Request) -> web.Response:
        name, _ = self._find(request)
        return web.json_response(self._spoil(_read(f"deletion-{name}")))

    async def tags(self, request: web.Request) -> web.Response:
        return web.json_response(self._spoil({"objects": [_TAGS, _TAGS_UNKNOWN]}))

    async def audit(self, request: web.Request) -> web.Response:
        return web.json_response(self._spoil(_build_audit(self.world.now())))

    def _find(self, request: web.Request) -> tuple[str, Json]:
        key = "/".join(request.match_info[name] for name in ("kind", "namespace", "name"))
        if key not in self._details:
            raise web.HTTPNotFound(text=json.dumps({"problem": f"there is no {key}"}), content_type="application/json")
        return self._details[key]


def _read(name: str) -> Json:
    return dict(json.loads((SAMPLES / f"{name}.json").read_text()))


def _read_details() -> Iterator[tuple[str, Json]]:
    for path in sorted(SAMPLES.glob("detail-*.json")):
        name = path.stem.removeprefix("detail-")
        yield name, _read(path.stem)


_TAGS: Json = {
    "key": "CloudMetadata/metadata-controller/costs", "namespace": "metadata-controller", "name": "costs",
    "phase": "Progressing", "total": 412, "looked": 1_700_000_060.0, "repaired": 2, "unlisted": 0,
    "counts": {"as_wanted": 396, "differs": 9, "drifted": 2, "left": 4, "not_known": 1},
    "conflicts": [
        {"resource": "subnet/subnet-0a1b2c", "tag": "cost-center", "is": "4711", "wanted": "4712",
         "why": "another controller sets it: billing-bot has set it 3 times within an hour"},
        {"resource": "vpc/vpc-0f9e8d", "tag": "owner", "is": "", "wanted": "team-b",
         "why": "the tag is protected by a policy"},
    ],
    "trimmed": [
        {"resource": "instance/i-0123", "tag": "note", "is": "", "wanted": "a very long note",
         "why": "50 tags are there already"},
    ],
    "repairs": [
        {"resource": "vpc/vpc-0f9e8d", "tag": "cost-center", "was": "0000", "is": "4711", "at": 1_700_000_050.0},
        {"resource": "subnet/subnet-77", "tag": "env", "was": "test", "is": "prod", "at": 1_700_000_040.0},
    ],
    "open": ["one account could not be read: AccessDenied for tag:GetResources in 111122223333"],
}  # fmt: skip
_TAGS_UNKNOWN: Json = {
    "key": "CloudMetadata/team-a/labels", "namespace": "team-a", "name": "labels", "phase": "Blocked",
    "total": None, "counts": None, "repaired": None, "looked": None, "conflicts": [], "trimmed": [], "unlisted": 0,
    "repairs": [], "open": ["this process has not looked at its tags yet: the status is all that is known"],
}  # fmt: skip


def _build_audit(now: float) -> Json:
    calls = (
        ("ec2.CreateVpc", "vpc-673aeeb08cfbb00b9", "done"),
        ("ec2.CreateTags", "vpc-673aeeb08cfbb00b9", "done"),
        ("elb.DeleteLoadBalancer", "legacy-apiserver", "refused"),
        ("ec2.DeleteSubnet", "subnet-5c70ee556e54dab34", "unknown"),
    )
    change = {"tag": "cost-center", "before": "4711", "after": "4712"}
    lines = [
        {
            "time": now - 37.0 * number, "object": "AWSCluster/team-b/legacy", "call": call, "resource": resource,
            "outcome": outcome, "by": "operator", "reason": "the object is deleted",
            "changes": [{**change, "resource": resource}] if number % 3 == 1 else [],
        }
        for number, (call, resource, outcome) in enumerate(calls * 6)
    ]  # fmt: skip
    return {
        "available": True, "why": "", "lines": lines, "next": None,
        "chain": {"verified": True, "lines": 4123, "problems": []},
    }  # fmt: skip


@contextmanager
def served_samples(more: int = 0, *, spoiled: bool = False) -> Iterator[str]:
    """Serve the page; gives its URL with its token."""
    with in_a_thread(_served(Samples(more, spoiled=spoiled))) as url:
        yield url


@asynccontextmanager
async def _served(samples: Samples) -> AsyncIterator[str]:
    runner = web.AppRunner(samples.build_app(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    playing = asyncio.ensure_future(samples.world.play())
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/#token={TOKEN}"
    finally:
        playing.cancel()
        with suppress(asyncio.CancelledError):
            await playing
        await runner.cleanup()
