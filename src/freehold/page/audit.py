"""The audit log for people who look at the page: who changed what, and whether the log of it is whole.

Who may not see an object's kind in its namespace sees none of its lines. What cannot be read as a line, or is of no
namespace, is for those who see all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from freehold.kube.resources import Json
from freehold.page.audit_lines import AuditPage, AuditQuery, CursorLost, MaySee, read_page
from freehold.page.chain_watch import MOST_LISTED, ChainWatch

_WAIT_SECONDS: Final = 1.0
"""An answer waits so long for the check of the chain, which goes on without it."""
_READS_AT_ONCE: Final = 2
_NO_LOG: Final = "this operator writes no audit log: start it with --audit FILE"
_LOST: Final = "the log was rotated or changed meanwhile: begin again with its newest line"
_NOTHING: Final = AuditPage((), None, 0)


class AuditReader:
    """Reads the logs at these paths, the operator's and people's, in threads; each may have rotated files."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        self._chains = [ChainWatch(path) for path in self._paths]
        self._checking: asyncio.Task[None] | None = None
        self._reads = asyncio.Semaphore(_READS_AT_ONCE)

    async def read_lines(self, query: AuditQuery, may_see: MaySee) -> Json:
        """Answer a question. ``may_see`` is called in another thread."""
        if not self._paths:
            return self._answer(_NOTHING, problem=_NO_LOG)
        page, why = _NOTHING, ""
        try:
            async with self._reads:
                page = await asyncio.to_thread(read_page, self._paths, query, may_see)
            await self._check_chains()
        except CursorLost:
            why = _LOST
        except OSError as problem:
            name = Path(str(problem.filename or "")).name
            return self._answer(_NOTHING, problem=f"the audit log {name} cannot be read: {problem.strerror}")
        return self._answer(page, why=why)

    async def close(self) -> None:
        """End the check of the chain."""
        if self._checking is not None:
            self._checking.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await self._checking

    async def _check_chains(self) -> None:
        """Let the check go on, and wait for it for a moment. Raises OSError."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check_to_end(), name="audit chain")
        done, _ = await asyncio.wait((self._checking,), timeout=_WAIT_SECONDS)
        for each in done:
            each.result()

    async def _check_to_end(self) -> None:
        for chain in self._chains:
            while await asyncio.to_thread(chain.check_part):
                pass

    def _answer(self, page: AuditPage, *, problem: str = "", why: str = "") -> Json:
        return {
            "available": not problem,
            "why": problem or why,
            "lines": list(page.rows),
            "next": page.next,
            "searched": page.searched,
            "chain": self._describe_chains(),
        }

    def _describe_chains(self) -> Json:
        states = [chain.describe() for chain in self._chains]
        found = {each.verified for each in states if each.lines or each.wrong or not each.is_current}
        return {
            "verified": False if False in found else True if found == {True} else None,
            "lines": sum(each.lines for each in states),
            "unsealed": sum(each.unsealed for each in states),
            "wrong": sum(each.wrong for each in states),
            "problems": [problem for each in states for problem in each.problems][:MOST_LISTED],
        }
