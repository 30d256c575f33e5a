"""The webhook of a running operator, put together of its settings."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from freehold.admission.certificate_files import FileCertificates
from freehold.admission.certificate_store import SecretCertificates
from freehold.admission.name_check import NameCheck
from freehold.admission.review import Reviewer
from freehold.admission.rules import Rules
from freehold.admission.server import Parts, Webhook, serve_webhook
from freehold.admission.webhook_configuration import CHECKED
from freehold.controllers.settings import Settings
from freehold.kube.client import KubeClient

SWITCH_SECONDS = 0.0005
"""The interpreter's switch interval: after so long a busy thread lets another one run. An answer takes some ten turns,
and each would wait for 5 ms by default (https://docs.python.org/3/library/sys.html#sys.setswitchinterval)."""
_CONNECTIONS = 10
"""Connections for the certificate, and for name checks at a time."""


@contextmanager
def serve_operator_webhook(
    settings: Settings, address: tuple[str, int], directory: Path | None, leads: Callable[[], bool]
) -> Iterator[int]:
    """Serve the webhook of an operator, and yield its port.

    ``directory`` has the certificate that somebody else keeps; without one it is in a Secret, which the process that
    ``leads`` looks after. Raises OSError and BrokenCertificates.
    """
    rules = Rules(settings.gates, settings.gc_selector)

    @asynccontextmanager
    async def open_parts() -> AsyncIterator[Parts]:
        async with KubeClient(settings.kube, connections=_CONNECTIONS) as client:
            own = SecretCertificates(client, settings.own_namespace, leads)
            names = NameCheck(client, settings.namespace or "")
            yield Parts(Reviewer(rules, CHECKED, names), FileCertificates(directory) if directory else own)

    if directory is not None:
        FileCertificates(directory).read()
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        with serve_webhook(Webhook(open_parts, settings.observers.process), *address) as port:
            yield port
    finally:
        sys.setswitchinterval(usual)
