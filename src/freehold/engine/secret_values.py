"""Secret values in a create: the record has a reference and a digest, and only the cloud gets the value.

A request names a secret as ``{"$secret": "<name>/<key>"}`` (:func:`reference`), at any depth; beside it may stand what
is done to the value before it is sent: ``"as": "gzip"``, and then ``"bytes": [first, end]`` for a piece of that. Before
the create the engine reads the secret, records a digest beside the reference, and gives the driver a
:class:`SecretValue`, which shows itself nowhere. The digest is keyed and covers the place in the request and what is
sent: whoever may edit the object can write another reference into its journal, or move one, and must not have another
Secret, or more of it, sent for it.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from freehold.engine.errors import CloudError, Invalid, NotFound
from freehold.engine.resources import Request

REFERENCE, DIGEST = "$secret", "digest"
AS, BYTES, GZIP = "as", "bytes", "gzip"
LEAST = 8
"""Letters of a part of a value that is taken out of messages; shorter ones are in every other word."""


class SecretReader(Protocol):
    """Reads Secrets in the namespace of one object."""

    async def read(self, reference: str) -> bytes:
        """Read the value of ``<name>/<key>``. Raises NotFound, also for text of another form, and other CloudErrors.

        Whoever may edit the object can write any text here: it must not lead out of the namespace.
        """
        ...


class NoSecrets:
    """For objects whose requests have none."""

    async def read(self, reference: str) -> bytes:
        raise NotFound(f"secret {reference} cannot be read: this operator reads none for objects of this kind")


def reference(name: str, *, form: str = "", span: tuple[int, int] | None = None) -> Request:
    """Name the secret ``<name>/<key>`` of the object's namespace in a node's request.

    ``form`` is empty or :data:`GZIP`; ``span`` are the first byte and the end of the piece that is sent.
    """
    return {REFERENCE: name, **({AS: form} if form else {}), **({BYTES: list(span)} if span else {})}


def compress(value: bytes) -> bytes:
    """Return the value as :data:`GZIP` has it: the same each time, with neither time nor name in it."""
    return gzip.compress(value, mtime=0)


class SecretValue:
    """A value on its way to the cloud: it is neither printed nor written as JSON; a driver reveals it to an SDK.

    No dataclass: ``asdict`` would reveal it.
    """

    __slots__ = ("_value", "reference")

    def __init__(self, reference: str, value: bytes) -> None:
        self.reference = reference
        self._value = value

    def __repr__(self) -> str:
        return f"(secret {self.reference})"

    def reveal(self) -> bytes:
        return self._value


@dataclass(frozen=True)
class Named:
    """A reference in a request: ``path`` is its place there, ``digest`` is empty where none is recorded."""

    path: str
    reference: str
    digest: str = ""
    form: str = ""
    span: tuple[int, int] | None = None

    def to_request(self) -> Request:
        """Return it as a node's request has it, without the digest."""
        return reference(self.reference, form=self.form, span=self.span)

    def transform(self, value: bytes) -> bytes:
        """Return what is sent of the secret. Raises Invalid where nothing is: the secret has become shorter."""
        if self.form not in ("", GZIP):
            raise Invalid(
                f"secret {self.reference}: this version does not know the form {self.form!r}: use a newer one"
            )
        shaped = compress(value) if self.form else value
        if self.span is None:
            return shaped
        first, end = self.span
        if not (0 <= first < end and shaped[first:end]):
            raise Invalid(
                f"secret {self.reference} has no bytes {first} to {end} any more: it was changed. It is read again"
            )
        return shaped[first:end]


Put = Callable[[Named], Any]


def find_references(request: Any) -> tuple[Named, ...]:
    """Return all references in a request."""
    found: list[Named] = []
    with_each(request, found.append)
    return tuple(found)


def with_each(request: Any, put: Put, path: str = "") -> Any:
    """Return a copy of the request in which ``put`` has replaced each reference."""
    if isinstance(request, Mapping):
        if isinstance(name := request.get(REFERENCE), str):
            return put(_to_named(path, name, request))
        return {each: with_each(value, put, f"{path}/{each}") for each, value in request.items()}
    if isinstance(request, list | tuple):
        return [with_each(value, put, f"{path}/{index}") for index, value in enumerate(request)]
    return request


def _to_named(path: str, name: str, request: Mapping[str, Any]) -> Named:
    """Return a reference as it is written. Anybody may have written it: what is no span has no bytes."""
    span = request.get(BYTES)
    if span is not None:
        pair = isinstance(span, list | tuple) and len(span) == 2 and all(type(each) is int for each in span)
        span = (span[0], span[1]) if pair else (0, 0)
    return Named(path, name, str(request.get(DIGEST, "")), str(request.get(AS, "")), span)


def without_digests(request: Any) -> Any:
    """Return a request as its node says it, for comparison with what was recorded."""
    return with_each(request, Named.to_request) if find_references(request) else request


def values_in(request: Any) -> tuple[SecretValue, ...]:
    """Return what a driver puts into :attr:`port.Call.hidden`."""
    return tuple(_values(request))


def _values(request: Any) -> Iterator[SecretValue]:
    if isinstance(request, SecretValue):
        yield request
    elif isinstance(request, Mapping):
        for value in request.values():
            yield from _values(value)
    elif isinstance(request, list | tuple):
        for value in request:
            if not isinstance(value, str):  # nearly all: a call names hundreds of ids
                yield from _values(value)


def remove_secret_values(said: Any, hidden: Sequence[SecretValue]) -> Any:
    """Return ``said``, a text or plain JSON, without any part of a value."""
    if isinstance(said, SecretValue):
        return str(said)
    if isinstance(said, str):
        for secret in hidden:
            for part in _parts(secret.reveal()):
                said = said.replace(part, str(secret))
        return said
    if isinstance(said, Mapping):
        return {key: remove_secret_values(value, hidden) for key, value in said.items()}
    if isinstance(said, list | tuple):
        return [remove_secret_values(value, hidden) for value in said]
    return said


def withhold(error: BaseException, hidden: Sequence[SecretValue]) -> None:
    """Take the values out of what a cloud answered, and out of what that was caused by: it may repeat the request."""
    seen: BaseException | None = error
    while seen is not None and hidden:
        seen.args = tuple(remove_secret_values(said, hidden) for said in seen.args)
        if isinstance(seen, CloudError):
            seen.fact = remove_secret_values(seen.fact, hidden)
        seen = seen.__cause__ or seen.__context__


def _parts(value: bytes) -> list[str]:
    """Return the forms in which a message may repeat a value, the longest first: whole, as base64, a line of it."""
    text = value.decode(errors="replace")
    whole = [text, text.strip(), base64.b64encode(value).decode()]
    parts = {*whole, *(line.strip() for line in text.splitlines())}
    return sorted((part for part in parts if len(part) >= LEAST), key=len, reverse=True)
