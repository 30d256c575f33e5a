"""``Toy`` as a kind of object: its names, and what the controllers need of it. Imports no SDK and no types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freehold.api.served import ClusterLink, ServedName
from freehold.api.served_fields import ServedField, Serving
from freehold.providers.base import ConnectionContext, ObjectKind

if TYPE_CHECKING:
    from freehold.api.served_kind import ServedKind
    from freehold.providers.objects.adapter import Adapter
    from freehold.providers.toy.account import ToyAccount

TOY_OBJECT = ServedName(
    "toy.freehold.dev",
    "v1",
    "Toy",
    "toys",
    "toy.toy.freehold.dev",
    link=ClusterLink.NONE,
    parts=("NetReady", "BoxReady"),
    fields=(
        ServedField("spec.size"),
        ServedField("spec.tags", sentence="on both resources"),
        ServedField("spec.color", Serving.IGNORED, "boxes have no color yet"),
    ),
)


def _describe() -> ServedKind:
    from freehold.providers.toy.types import TOYS

    return TOYS


def _adapt(account: ToyAccount, shared: ConnectionContext) -> Adapter:
    from freehold.providers.toy.adapter import ToyAdapter

    return ToyAdapter()


TOY_KIND = ObjectKind(TOY_OBJECT, _describe, _adapt)
