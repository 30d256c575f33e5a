"""A small server for work on the page: the static files, made-up objects and a scripted stream. No operator.

Run from the repository's root: ``python -m tests.harness.page_fixture --objects 1000``, and open the URL it prints.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import copy
import json
import random
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from aiohttp import web
from tests.harness.page_reports import build_audit, build_tags

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "src/freehold/page/static"
SAMPLES = ROOT / "tests/data/page"
TOKEN = "fixture"
SPEED = 30.0
"""Domain seconds in a real one."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
Json = dict[str, Any]

STRANGE = '<img src=x onerror=alert(1)> \u202egnp.exe \u200b"&amp; \x07' + "ا" * 40 + " " + "long" * 2500
"""Markup, marks that turn text around, a control, Arabic, and ten thousand characters."""
_PHASES = (("Ready", 930), ("Progressing", 38), ("Deleting", 14), ("Blocked", 10), ("Paused", 8))
_PLACES = (
    ("aws", "eu-central-1"),
    ("aws", "us-east-1"),
    ("aws", "ap-southeast-2"),
    ("ibm", "eu-de"),
    ("ibm", "us-south"),
)
_KINDS = {
    "aws": ("AWSCluster", "AWSMachine", "AWSManagedControlPlane"),
    "ibm": ("IBMPowerVSCluster", "IBMPowerVSMachine"),
}
_NAMESPACES = ("default", "payments", "search", "ml-training", "edge", "team-identity-and-access-management")


class World:
    """Objects that change by a script, with everything that follows them."""

    def __init__(self, objects: int, story: str) -> None:
        self._begun = time.monotonic()
        self.begun_at = 1_790_000_000.0
        self._random = random.Random(45)
        self.story = story
        self.seq = 1
        self.changes: list[Json] = []
        self.news = asyncio.Condition()
        rows = [self._build_row(index) for index in range(objects)]
        if story == "samples":
            samples = json.loads((SAMPLES / "objects.json").read_text())
            self.begun_at, rows = samples["now"], samples["rows"]
        self.rows = {row["key"]: row for row in rows}

    def now(self) -> float:
        return self.begun_at + (time.monotonic() - self._begun) * SPEED

    def _build_row(self, index: int) -> Json:
        rng = self._random
        cloud, place = rng.choice(_PLACES)
        kind = rng.choices(_KINDS[cloud], weights=(5, 3, 1)[: len(_KINDS[cloud])])[0]
        namespace = rng.choice(_NAMESPACES)
        use, which = rng.choice(("web", "batch", "stage", "prod", "ci")), rng.choice(("a", "blue", "frankfurt", "x7"))
        name = f"{use}-{which}-{index}"
        if self.story == "hostile" and index % 3 == 0:
            name = f"{STRANGE[: 60 + index % 7 * 1700]}{index}"
        phases, weights = zip(*_PHASES, strict=True)
        phase = "Ready" if self.story == "calm" else rng.choices(phases, weights=weights)[0]
        total = 4 if "Machine" in kind else 25
        since = self.now() - rng.choice((40, 900, 8000, 90_000, 3_000_000)) * rng.random()
        row = {
            "key": f"{kind}/{namespace}/{name}", "kind": kind, "namespace": namespace, "name": name, "phase": phase,
            "reason": {"Ready": "Ready", "Progressing": "NotReady", "Deleting": "Deleting"}.get(phase, phase),
            "since": since, "created": since - 86_400 * rng.random() * 90,
            "deleting_since": since if phase == "Deleting" else None,
            "done": total if phase in ("Ready", "Paused") else rng.randrange(total), "total": total,
            "cloud": cloud, "place": place, "cluster": f"cluster-{index % 40}", "version": "v1.34.2", "needs": [],
        }  # fmt: skip
        row["needs"] = self._build_needs(row)
        return row

    def _build_needs(self, row: Json) -> list[Json]:
        where, since, rng = f"-n {row['namespace']}", row["since"], self._random
        if self.story == "hostile" and row["phase"] != "Ready":
            return [_need("blocked", STRANGE, STRANGE, f"freehold tree {STRANGE}", since)]
        if row["phase"] == "Paused":
            do = "Lift the pause when the work is done."
            command = f"kubectl annotate {row['kind'].lower()} {row['name']} {where} cluster.x-k8s.io/paused-"
            return [
                _need("paused", "paused: the object has the annotation cluster.x-k8s.io/paused", do, command, since)
            ]
        if row["phase"] == "Blocked":
            return [rng.choice(_BLOCKS)(row, where)]
        if row["phase"] == "Deleting" and rng.random() < 0.3:
            what = "vpc main: DependencyViolation: eni-0a1b2c3d4e5f60718 of nobody we know is in subnet private-1"
            do = "Say whether the network interface may go; nothing of anybody else's is deleted."
            return [_need("stuck-delete", what, do, f"freehold gc plan {row['kind']}/{row['name']} {where}", since)]
        return []

    async def play(self) -> None:
        """Move a few objects on, twice a second."""
        while True:
            await asyncio.sleep(0.5)
            if self.story in ("still", "samples") or not self.rows:
                continue
            keys = self._random.sample(sorted(self.rows), k=min(3, len(self.rows)))
            changed = [
                self._move(self.rows[key]) for key in keys if self.rows[key]["phase"] in ("Ready", "Progressing")
            ]
            await self.tell(changed, [])

    def _move(self, row: Json) -> Json:
        row = copy.deepcopy(row)
        if row["phase"] == "Progressing" and row["done"] < row["total"]:
            row["done"] += 1
        elif row["phase"] == "Progressing":
            row.update(phase="Ready", reason="Ready", since=self.now())
        else:
            row.update(phase="Progressing", reason="NotReady", since=self.now(), done=row["total"] - 2)
        return row

    async def tell(self, changed: list[Json], gone: list[str]) -> None:
        async with self.news:
            self.seq += 1
            self.rows.update({row["key"]: row for row in changed})
            for key in gone:
                self.rows.pop(key, None)
            self.changes.append({"seq": self.seq, "now": self.now(), "changed": changed, "gone": gone})
            self.news.notify_all()

    async def follow(self, after: int) -> AsyncIterator[tuple[str, Json]]:
        while True:
            for change in [each for each in self.changes if each["seq"] > after]:
                after = change["seq"]
                yield "rows", change
            try:
                async with self.news, asyncio.timeout(5):
                    await self.news.wait_for(lambda: self.seq > after)  # noqa: B023 - awaited before the next step
            except TimeoutError:
                yield "beat", {"seq": self.seq, "now": self.now()}


def _need(urgency: str, what: str, do: str, command: str, since: float) -> Json:
    return {"urgency": urgency, "what": what, "do": do, "command": command, "since": since}


def _no_credentials(row: Json, where: str) -> Json:
    what = "The account of AWSClusterStaticIdentity team-payments refuses its key: InvalidClientTokenId"
    do = "Put a valid key into the Secret freehold-system/team-payments; it is read again at once."
    return _need("credentials", what, do, "kubectl edit secret team-payments -n freehold-system", row["since"])


def _conflict(row: Json, where: str) -> Json:
    what = (
        f"load-balancer {row['name'][:40]}-apiserver: another owner's mark is on it (cluster 7f3c…e1, seen 2 min ago)"
    )
    do = "Decide whose it is. Until then nothing of it is changed."
    return _need("conflict", what, do, f"freehold resolve {row['kind']}/{row['name']} {where}", row["since"])


def _quota(row: Json, where: str) -> Json:
    what = "nat-gateway private-2: AddressLimitExceeded: the account has 5 of 5 elastic IPs"
    do = "Raise the quota, or release addresses; the create goes on by itself."
    return _need("blocked", what, do, f"freehold tree {row['kind']}/{row['name']} {where}", row["since"])


_BLOCKS = (_no_credentials, _conflict, _quota)


class Fixture:
    """The routes."""

    def __init__(self, world: World) -> None:
        self._world = world

    def build_app(self) -> web.Application:
        app = web.Application(middlewares=[_guard])
        app.router.add_get("/", self.index)
        app.router.add_get("/static/{name:.+}", self.static)
        app.router.add_get("/api/session", self.session)
        app.router.add_get("/api/objects", self.objects)
        app.router.add_get("/api/stream", self.stream)
        app.router.add_get("/api/objects/{kind}/{namespace}/{name}", self.detail)
        app.router.add_get("/api/objects/{kind}/{namespace}/{name}/deletion", self.deletion)
        app.router.add_get("/api/tags", self.tags)
        app.router.add_get("/api/audit", self.audit)
        return app

    async def index(self, request: web.Request) -> web.FileResponse:
        return web.FileResponse(STATIC / "index.html")

    async def static(self, request: web.Request) -> web.FileResponse:
        path = STATIC / request.match_info["name"]
        if not path.is_file():
            raise web.HTTPNotFound
        return web.FileResponse(path)

    async def session(self, request: web.Request) -> web.Response:
        now = self._world.now()
        return web.json_response({
            "version": "0.9.0", "now": now, "simulated": True, "speed": SPEED, "viewer": "local", "everywhere": True,
            "namespaces": [], "started": now - 4000, "leads": True, "server": "freehold-0",
            "where": "add to commands in these messages: --state STATE",
        })  # fmt: skip

    async def objects(self, request: web.Request) -> web.Response:
        world = self._world
        response = web.json_response({"seq": world.seq, "now": world.now(), "rows": list(world.rows.values())})
        response.enable_compression()
        return response

    async def stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        with contextlib.suppress(ConnectionResetError):
            async for name, data in self._world.follow(int(request.query.get("after", 0))):
                await response.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
        return response

    async def detail(self, request: web.Request) -> web.Response:
        return _find_sample("detail", request) or web.json_response({"problem": "There is no such object."}, status=404)

    async def deletion(self, request: web.Request) -> web.Response:
        return _find_sample("deletion", request) or web.json_response(
            {"problem": "There is no such object."}, status=404
        )

    async def tags(self, request: web.Request) -> web.Response:
        return web.json_response(build_tags(self._world.begun_at, self._strange))

    async def audit(self, request: web.Request) -> web.Response:
        query = dict(request.query)
        return web.json_response(build_audit(self._world.begun_at, query.get("before", ""), self._strange, query))

    @property
    def _strange(self) -> str:
        return STRANGE if self._world.story == "hostile" else ""


def _find_sample(what: str, request: web.Request) -> web.Response | None:
    """Find the sample of an object; objects that are made up have that of a cluster that is Ready."""
    key = f"/{request.match_info['namespace']}/{request.match_info['name']}"
    for path in SAMPLES.glob("detail-*.json"):
        row = json.loads(path.read_text())["row"]
        if row["key"].endswith(key) or (path.stem == "detail-ready" and key not in _sample_keys()):
            return web.json_response(text=path.with_name(path.name.replace("detail", what)).read_text())
    return None


def _sample_keys() -> set[str]:
    rows = json.loads((SAMPLES / "objects.json").read_text())["rows"]
    return {f"/{row['namespace']}/{row['name']}" for row in rows}


@web.middleware
async def _guard(request: web.Request, handler: Any) -> web.StreamResponse:
    if request.path.startswith("/api/") and request.headers.get("Authorization") != f"Bearer {TOKEN}":
        return web.json_response({"problem": "The token is not that of this server."}, status=401)
    response: web.StreamResponse = await handler(request)
    if not response.prepared:
        response.headers.update(HEADERS)
    return response


async def _serve(port: int, objects: int, story: str) -> None:
    world = World(objects, story)
    runner = web.AppRunner(Fixture(world).build_app(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print(f"http://127.0.0.1:{port}/#token={TOKEN}", flush=True)
    await world.play()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8450)
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--story", choices=("busy", "calm", "still", "hostile", "samples"), default="busy")
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(given.port, given.objects, given.story))


if __name__ == "__main__":
    main()
