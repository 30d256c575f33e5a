"""The strategy of kinds without a status subresource and without a generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from freehold_apiserver import structural
from freehold_apiserver.errors import FieldError
from freehold_apiserver.store import Json
from freehold_apiserver.strategy import Findings
from freehold_apiserver.validation import Validator


class PlainStrategy:
    """Validates by schema and stores the rest unchanged: no status subresource, no generation."""

    unconditional_update = True

    def __init__(self, schema: Mapping[str, Any] | None = None) -> None:
        self.schema = schema

    @cached_property
    def _validator(self) -> Validator | None:
        return Validator(self.schema) if self.schema else None

    def decode(self, obj: Json) -> Findings:
        if not self.schema:
            return Findings()
        unknown = structural.prune(obj, self.schema)
        structural.default(obj, self.schema)
        return Findings(tuple(unknown))

    def prepare_create(self, obj: Json) -> None:
        return

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        return

    def validate(self, obj: Json, old: Json | None) -> Sequence[FieldError]:
        return self._validator.errors(obj) if self._validator else []

    def prepare_delete(self, obj: Json) -> None:
        return

    def blocks_deletion(self, obj: Json) -> bool:
        return False
