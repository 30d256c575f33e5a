"""The strategy of custom resources, driven by the version's schema in the CRD."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from freehold_apiserver import structural
from freehold_apiserver.cel_rules import Rules
from freehold_apiserver.errors import FieldError
from freehold_apiserver.ratcheting import ratcheted
from freehold_apiserver.store import Json
from freehold_apiserver.strategy import Findings, content, put_back, take_only
from freehold_apiserver.validation import Validator


class Compiled(NamedTuple):
    """Hold what checks the objects of a schema."""

    validator: Validator
    rules: Rules


def compile_schema(schema: dict[str, Any]) -> Compiled:
    """Compile a schema. Raises ValueError when it cannot be compiled."""
    return _compile(marshal.dumps(schema, 2))  # of equal schemas the same bytes, in a third of the time of JSON


@lru_cache(maxsize=128)  # a CRD is looked at three times in a write, then served, and by each server of a process
def _compile(dumped: bytes) -> Compiled:
    schema = marshal.loads(dumped)  # noqa: S302 (bytes that compile_schema() made)
    return Compiled(Validator(schema), Rules(schema))


class CustomStrategy:
    """Prunes, defaults and validates by schema; writes change either ``status`` or the rest.

    Source for which fields each write may change: k8s.io/apiextensions-apiserver
    ``pkg/registry/customresource/{strategy,status_strategy}.go``.
    """

    unconditional_update = False

    def __init__(self, schema: dict[str, Any], *, has_status: bool) -> None:
        self._schema = schema
        self._has_status = has_status

    # Built for the first write: their libraries take longer to import than reading a store does.
    @cached_property
    def _compiled(self) -> Compiled:
        return compile_schema(self._schema)

    def decode(self, obj: Json) -> Findings:
        unknown = structural.prune(obj, self._schema)
        structural.default(obj, self._schema)
        return Findings(tuple(unknown))

    def prepare_create(self, obj: Json) -> None:
        if self._has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        if subresource == "status":
            take_only(obj, old, "status")
            return
        if self._has_status:
            put_back(obj, old, "status")
        changed = content(obj) != content(old)
        generation = int(old["metadata"].get("generation", 1))
        obj["metadata"]["generation"] = generation + 1 if changed else generation

    def validate(self, obj: Json, old: Json | None) -> Sequence[FieldError]:
        validator, rules = self._compiled
        found = validator.errors(obj)
        if found and old is not None:
            found = ratcheted(found, validator.errors(old), obj, old)
        if found:  # as upstream: rules run only on objects that match the types of the schema
            return found
        broken = rules.errors(obj, old)
        return ratcheted(broken, rules.errors(old, None), obj, old) if broken and old is not None else broken

    def prepare_delete(self, obj: Json) -> None:
        return

    def blocks_deletion(self, obj: Json) -> bool:
        return False
