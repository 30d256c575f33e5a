"""The webhook of a running operator, put together of its settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from freehold.admission.certificate_files import FileCertificates
from freehold.admission.certificate_store import SecretCertificates
from freehold.admission.review import Reviewer
from freehold.admission.rules import Rules
from freehold.admission.server import CertificateSource, Webhook, serve_webhook
from freehold.admission.webhook_configuration import CHECKED
from freehold.controllers.settings import Settings
from freehold.kube.client import KubeClient


@contextmanager
def serve_operator_webhook(
    settings: Settings,
    address: tuple[str, int],
    directory: Path | None,
    leads: Callable[[], bool],
) -> Iterator[int]:
    """Serve the webhook of an operator, and yield its port.

    ``directory`` has the certificate that somebody else keeps; without one it is in a Secret, which the process that
    ``leads`` looks after. Raises OSError and BrokenCertificates.
    """

    @asynccontextmanager
    async def open_source() -> AsyncIterator[CertificateSource]:
        if directory is not None:
            yield FileCertificates(directory)
            return
        async with KubeClient(settings.kube, connections=2) as client:
            yield SecretCertificates(client, settings.own_namespace, leads)

    if directory is not None:
        FileCertificates(directory).read()
    reviewer = Reviewer(Rules(settings.gates, settings.gc_selector), CHECKED)
    with serve_webhook(Webhook(reviewer, open_source, settings.observers.process), *address) as port:
        yield port
