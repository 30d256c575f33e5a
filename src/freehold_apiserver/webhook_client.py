"""Calls of webhooks: POST of JSON over TLS. Messages are those of Go's HTTP client, which users find explained.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from freehold_apiserver.store import Json, encode

if TYPE_CHECKING:
    import aiohttp

Services = Mapping[tuple[str, str], str]
"""Namespace and name of a Service -> the host and port that stand for it: there is no network of a cluster here."""


class CallFailed(Exception):
    """A webhook that could not be asked or gave no usable answer. The text says why."""


@dataclass(frozen=True)
class Target:
    """Where a webhook listens. ``service`` is (namespace, name), None for a URL; ``authority`` is PEM."""

    url: str
    authority: bytes
    service: tuple[str, str] | None = None


def target_of(config: Json) -> Target:
    """Read a valid ``clientConfig``."""
    authority = base64.b64decode(config.get("caBundle") or "")
    if config.get("url"):
        return Target(config["url"], authority)
    service = config["service"]
    host = f"{service['name']}.{service['namespace']}.svc:{service.get('port') or 443}"
    return Target(f"https://{host}{service.get('path') or ''}", authority, (service["namespace"], service["name"]))


class WebhookClient:
    """Keeps connections to webhooks."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[bytes, ssl.SSLContext] = {}

    async def post(self, target: Target, body: Json, seconds: float) -> Any:
        """Return the JSON that the webhook answers. Raises CallFailed."""
        import aiohttp  # only where there are webhooks

        if self._session is None:
            # No redirects, proxies or cookies: what is configured is what is asked.
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        context = self._context(target.authority)
        url, headers, name = target.url, {"Content-Type": "application/json", "Accept": "application/json, */*"}, None
        params = {"timeout": f"{seconds:.0f}s"}
        shown = f'Post "{url}?timeout={params["timeout"]}"'
        if target.service is not None:
            address = self._services.get(target.service)
            if address is None:
                raise CallFailed(f'failed to call webhook: {shown}: service "{target.service[1]}" not found')
            host = url.removeprefix("https://").partition("/")[0]
            headers["Host"], name = host, host.rpartition(":")[0]
            url = url.replace(host, address, 1)
        try:
            async with self._session.post(
                url, params=params, data=encode(body), headers=headers, ssl=context,
                server_hostname=name, allow_redirects=False, timeout=aiohttp.ClientTimeout(total=seconds),
            ) as response:  # fmt: skip
                answer = await response.read()
        except (aiohttp.ClientError, ValueError, OSError) as problem:
            raise CallFailed(f"failed to call webhook: {shown}: {_in_words(problem)}") from problem
        return _decoded(response.status, response.content_type, answer)

    def _context(self, authority: bytes) -> ssl.SSLContext:
        """Trust this authority alone; without one, what the machine trusts."""
        found = self._contexts.get(authority)
        if found is None:
            try:
                found = ssl.create_default_context(cadata=authority.decode("ascii") if authority.strip() else None)
            except (ssl.SSLError, ValueError) as problem:
                why = "unable to load root certificates: unable to parse bytes as PEM block"
                raise CallFailed(f"could not get REST client: {why}") from problem
            # As Go: an authority needs no key identifier, and any certificate of the bundle is trusted.
            found.verify_flags = (found.verify_flags & ~ssl.VERIFY_X509_STRICT) | ssl.VERIFY_X509_PARTIAL_CHAIN
            self._contexts = dict([*self._contexts.items(), (authority, found)][-_MOST_AUTHORITIES:])
        return found

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


_MOST_AUTHORITIES = 50


def _decoded(status: int, content_type: str, answer: bytes) -> Any:
    if not 200 <= status <= 206:
        text = answer[:2048].decode(errors="replace").strip() if content_type.startswith("text/") else ""
        raise CallFailed(f"failed to call webhook: {_refusal(status, text)}")
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as problem:
        raise CallFailed(f"failed to call webhook: couldn't get version/kind; json parse error: {problem}") from problem


def _refusal(status: int, text: str) -> str:
    """Word an HTTP error as k8s.io/client-go does."""
    if status == 404:
        return "the server could not find the requested resource"
    if status >= 500:
        shown = json.dumps(text or "unknown", ensure_ascii=False)
        return f"an error on the server ({shown}) has prevented the request from succeeding"
    return f"the server rejected our request for an unknown reason ({status})"


def _in_words(problem: Exception) -> str:
    import aiohttp

    if isinstance(problem, asyncio.TimeoutError):
        return "context deadline exceeded"
    cause = getattr(problem, "certificate_error", None) or getattr(problem, "os_error", None) or problem
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: x509: {_CERTIFICATE.get(cause.verify_code, cause.verify_message)}"
    if isinstance(cause, ConnectionRefusedError):
        return "connect: connection refused"
    if isinstance(problem, aiohttp.ServerDisconnectedError):
        return "EOF"
    return str(cause) or type(cause).__name__


_UNKNOWN_AUTHORITY = "certificate signed by unknown authority"
_EXPIRED = "certificate has expired or is not yet valid"
_CERTIFICATE = {9: _EXPIRED, 10: _EXPIRED, **dict.fromkeys((7, 18, 19, 20, 21), _UNKNOWN_AUTHORITY)}
"""OpenSSL's code of what is wrong -> Go's words for it."""
