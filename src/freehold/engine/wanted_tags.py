"""The tags that a pass wants on a resource: the marks, and beside them the node's own and the user's."""

from __future__ import annotations

from freehold.engine import proofs
from freehold.engine.context import PassContext
from freehold.engine.kinds import Tagging
from freehold.engine.resources import NodeKey, Observed


def marks(ctx: PassContext, key: NodeKey, observed: Observed) -> frozenset[str]:
    """Return the tags that we want on its target."""
    mark = frozenset({proofs.seal_mark(ctx, key, observed)})
    return mark if observed.carried else _list_identity_marks(ctx, key) | mark


def _list_identity_marks(ctx: PassContext, key: NodeKey) -> frozenset[str]:
    """Return the marks that say whose it is and which node; copied ones say the same."""
    codec = ctx.deps.codec
    return codec.owner(ctx.owner) | codec.spell_parent_mark(ctx.owner) | codec.label(key)


def birth_tags(ctx: PassContext, key: NodeKey, nonce: str, beside: frozenset[str]) -> frozenset[str]:
    """Return what a create sets, of a kind that takes tags on create: its marks, and ``beside`` them."""
    return _merge_tags(ctx, _list_identity_marks(ctx, key) | {ctx.deps.codec.birth(key, nonce)}, beside)


def tags(ctx: PassContext, key: NodeKey, observed: Observed) -> frozenset[str]:
    """Return the marks and, where they are not on somebody else's carrier, the node's and the user's tags."""
    return _merge_tags(ctx, marks(ctx, key, observed), frozenset() if observed.carried else beside_marks(ctx, key))


def node_tags(ctx: PassContext, key: NodeKey) -> frozenset[str]:
    """Return the node's own tags, if the resource is ours and can have any."""
    if key not in ctx.graph.nodes or ctx.kind(key).tagging is Tagging.NEVER:
        return frozenset()
    return ctx.graph.nodes[key].tags


def tags_on_given(ctx: PassContext, key: NodeKey) -> frozenset[str]:
    """Return what belongs on the resource of this node if it is not ours."""
    node = ctx.graph.nodes[key]
    return _merge_tags(
        ctx, node.given_tags, ctx.user_tags - find_refused_tags(ctx, key) if node.user_tagged else frozenset()
    )


def beside_marks(ctx: PassContext, key: NodeKey) -> frozenset[str]:
    """Return the node's and the user's tags, for a resource of ours."""
    return _merge_tags(ctx, node_tags(ctx, key), ctx.user_tags - find_refused_tags(ctx, key))


def find_refused_tags(ctx: PassContext, key: NodeKey) -> frozenset[str]:
    """Return those of the user's tags that must not be on it (:attr:`graph.Node.refused_tags`)."""
    node = ctx.graph.nodes.get(key)
    if node is None or not node.refused_tags:
        return frozenset()
    return frozenset(tag for tag in ctx.user_tags if ctx.deps.codec.key(tag) in node.refused_tags)


def _merge_tags(ctx: PassContext, tags: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """Join both; where tags are a map, of ``others`` only those whose keys ``tags`` do not have."""
    codec = ctx.deps.codec
    keys = {codec.key(tag) for tag in tags} if codec.keyed else frozenset[str]()
    return tags | {tag for tag in others if codec.key(tag) not in keys}


def lagging(ctx: PassContext, key: NodeKey, missing: frozenset[str]) -> bool:
    """Return whether what a read does not show was attached so lately that the read may be behind."""
    attached = ctx.node(key).mark_memory.attached
    if attached is None or ctx.now - attached.at >= ctx.kind(key).settle:
        return False
    return ctx.deps.codec.fold(missing) <= ctx.deps.codec.fold(attached.tags)
