"""A port whose calls to a cloud have ids in the log."""

from __future__ import annotations

import contextvars
import itertools
import logging
import time
from dataclasses import replace
from typing import Any

from freehold.controllers.logs import log_about, read_log_context
from freehold.engine.errors import CloudError
from freehold.engine.port import Call, Effect, Port

_LOG = logging.getLogger(__name__)
_NUMBERS = itertools.count(1)
"""The numbers of calls, of all ports of this process: no two calls have one id."""


class LoggedPort:
    """A port that gives each call an id, which all lines logged on its way have, and tells of it at debug level.

    A request and its answer are not logged: the audit log has what may be shown of them.
    """

    def __init__(self, inner: Port) -> None:
        self._inner = inner

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.STORE:
            return await self._inner.send(call)
        with log_about(replace(read_log_context(), call=f"{call.api}.{call.operation}#{next(_NUMBERS)}")):
            context, begun = contextvars.copy_context(), time.monotonic()  # a thread of the pool has another one
            try:
                reply = await self._inner.send(call._replace(run=lambda: context.run(call.run)))
            except Exception as error:
                _tell(call, _describe(error), begun)
                raise
            _tell(call, "ok", begun)
            return reply


def _describe(error: Exception) -> str:
    """Describe an error by class and code: its text may have what was in the request."""
    more = f" {error.code} {error.request_id}".rstrip() if isinstance(error, CloudError) else ""
    return f"{type(error).__name__}{more}"


def _tell(call: Call, outcome: str, begun: float) -> None:
    _LOG.debug("%s of %s: %s in %.2f s", call.effect.value, call.subject or "-", outcome, time.monotonic() - begun)
