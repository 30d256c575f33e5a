"""The step about the live page: what it shows is what the API server has, and only to whoever has its token."""

from __future__ import annotations

import asyncio
import time
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

_PATIENCE = 60.0
_LOOK = 0.2


async def check_page(stage: Stage, acts: Sequence[Act], serving: ServedSession) -> None:
    """Ask the page for its objects, until it shows what the API server has: it may be as late as a watch is.

    Raises NotSo.
    """
    ready = [object_key(resource.kind, *key) for act in acts for resource, key in act.followed]
    deadline = time.monotonic() + _PATIENCE
    while True:
        rows = {row["key"]: row for row in await _fetch_rows(stage.page)}
        wrong = _compare(rows, await _list_keys(serving), ready)
        if not wrong:
            break
        if time.monotonic() > deadline:
            raise NotSo(f"the page shows something else than the API server has: {', '.join(wrong)}")
        await asyncio.sleep(_LOOK)
    stage.tell_checked_step(
        f"the live page shows each object that the API server has: {len(rows)}",
        f"the same keys in both; {' and '.join(ready)} are Ready, and nobody has to act; no answer without the token",
    )


async def _list_keys(serving: ServedSession) -> set[str]:
    listed = {each: await serving.session.client.list(each) for each in list_shown(Kinds(PROVIDERS))}
    return {object_key(each.kind, *key_of(raw)) for each, found in listed.items() for raw in found.items}


def _compare(rows: Mapping[str, Json], stored: set[str], ready: Sequence[str]) -> list[str]:
    """List the keys that only one has, and those that should be Ready and need somebody, or are not."""
    late = [each for each in ready if each in rows and (rows[each]["phase"] != "Ready" or rows[each]["needs"])]
    return [*sorted(set(rows) ^ stored), *late]


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
