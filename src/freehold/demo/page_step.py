"""The step about the live page: what it shows is what the API server has, and only to whoever has its token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import urldefrag

import aiohttp

from freehold.demo.acts import Act
from freehold.demo.checks import NotSo
from freehold.demo.stage import ServedSession, Stage
from freehold.kube.resources import Json, key_of
from freehold.page.live import list_shown
from freehold.page.stored_object import object_key
from freehold.providers.registry import PROVIDERS, Kinds


async def check_page(stage: Stage, acts: Sequence[Act], serving: ServedSession) -> None:
    """Ask the page for its objects, once. Raises NotSo."""
    rows = {row["key"]: row for row in await _fetch_rows(stage.page)}
    kinds = list_shown(Kinds(PROVIDERS))
    listed = {each: await serving.session.client.list(each) for each in kinds}
    stored = {object_key(each.kind, *key_of(raw)) for each, found in listed.items() for raw in found.items}
    if set(rows) != stored:
        raise NotSo(f"the page and the API server differ in {', '.join(sorted(set(rows) ^ stored))}")
    for resource, key in [each for act in acts for each in act.followed]:
        _require_ready(rows, object_key(resource.kind, *key))
    ready = sum(row["phase"] == "Ready" for row in rows.values())
    stage.tell_checked_step(
        f"the live page shows each object that the API server has: {len(rows)}, of which {ready} are Ready",
        "the same keys in both; whoever has no token is refused",
    )


def _require_ready(rows: Mapping[str, Json], key: str) -> None:
    row = rows[key]
    if row["phase"] != "Ready" or row["needs"]:
        raise NotSo(f"the page shows {key} as {row['phase']}, though it is Ready")


async def _fetch_rows(url: str) -> list[Json]:
    """Fetch the rows, and try it without the token. Raises NotSo."""
    base, fragment = urldefrag(url)
    headers = {"Authorization": f"Bearer {fragment.removeprefix('token=')}"}
    objects = f"{base}api/objects"
    async with aiohttp.ClientSession() as session:
        async with session.get(objects) as refused:
            if refused.status != HTTPStatus.UNAUTHORIZED:
                raise NotSo(f"the page answers {refused.status} to somebody without a token")
        async with session.get(objects, headers=headers) as answer:
            if answer.status != HTTPStatus.OK:
                raise NotSo(f"the page answers {answer.status}: {(await answer.text())[:500]}")
            found = await answer.json()
            return list(found["rows"])
