"""What a create carries by which it is recognised later: client token, nonce, and the marks that it sets."""

from __future__ import annotations

from freehold.engine import wanted_tags
from freehold.engine.context import PassContext
from freehold.engine.journal import RecordState
from freehold.engine.kinds import Dedupe, Tagging
from freehold.engine.resources import Birth, NodeKey


def birth_of(ctx: PassContext, key: NodeKey, attempt: int) -> Birth:
    """Return what the create of this attempt carries."""
    entry = ctx.journal.get(key)
    digest = ctx.signing_key(key) if entry and entry.state is RecordState.INTENDED else ctx.keys.writing
    nonce = ctx.keys.nonce(digest, key, attempt)
    marks: frozenset[str] = frozenset()
    if ctx.kind(key).tagging is Tagging.ON_CREATE:
        bound = entry.tags if entry else None
        beside = wanted_tags.beside_marks(ctx, key) if bound is None else frozenset(bound)
        marks = wanted_tags.birth_tags(ctx, key, nonce, beside)
    return Birth(ctx.keys.token(digest, key, attempt), nonce, marks)


def bound_tags(ctx: PassContext, key: NodeKey) -> tuple[str, ...] | None:
    """Return the tags that an intent records because its client token binds them: with others the token is refused."""
    kind = ctx.kind(key)
    bound = kind.dedupe is Dedupe.TOKEN and kind.tagging is Tagging.ON_CREATE
    return tuple(sorted(wanted_tags.beside_marks(ctx, key))) if bound else None
