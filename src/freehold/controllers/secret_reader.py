"""Reader of the Kubernetes Secrets that requests refer to (engine.secret_values), of one namespace.

A value goes to the engine and nowhere else: no message has it, nothing is logged, and nothing is kept.
"""

from __future__ import annotations

import base64
import binascii
import re

from freehold.engine import errors
from freehold.kube import errors as kube
from freehold.kube.resources import SECRETS, Key
from freehold.providers.base import ObjectReader

_REFERENCE = re.compile(r"([a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?)/([-._a-zA-Z0-9]{1,253})")
"""``<name>/<key>``, each with the letters that Kubernetes allows for it: no text can be a path to elsewhere."""


class NamespaceSecrets:
    """A reader of the Secrets in the namespace of an object. Each value is read when it is asked for."""

    def __init__(self, reader: ObjectReader, namespace: str) -> None:
        self._reader = reader
        self._namespace = namespace

    async def read(self, reference: str) -> bytes:
        """Read the value of ``<name>/<key>``. Raises NotFound, Denied, Invalid and Unavailable."""
        said = _REFERENCE.fullmatch(reference)
        if said is None:
            raise errors.NotFound("a reference to a Secret has another form than <name>/<key>: nothing is read for it")
        name, entry = said.groups()
        where = f"Secret {self._namespace}/{name}"
        try:
            found = await self._reader.get(SECRETS, Key(self._namespace, name))
        except kube.ObjectNotFound:
            raise errors.NotFound(f"{where} does not exist", advice=f"Make it, with the entry {entry!r}") from None
        except kube.Forbidden:
            advice = f"Grant the operator 'get' on {SECRETS} in namespace {self._namespace}"
            raise errors.Denied(f"{where} may not be read", advice=advice) from None
        except kube.KubeError as error:
            raise errors.Unavailable(f"{where} could not be read: {error}") from None
        data = found.get("data") or {}
        if entry not in data:
            raise errors.NotFound(f"{where} has no entry {entry!r}", advice="Add it")
        try:
            return base64.b64decode(data[entry], validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise errors.Invalid(f"entry {entry!r} of {where} is not base64", advice="Write it again") from None
