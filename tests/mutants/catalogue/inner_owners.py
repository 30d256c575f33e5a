"""Safety lines about owners within an owner: the machines of a cluster."""

from functools import partial

from mutants.rows import Mutant

_inner = partial(Mutant, "engine/phases/inner_owners.py")
_delete = partial(Mutant, "engine/phases/delete.py")
_engine = partial(Mutant, "engine/engine.py")
_context = partial(Mutant, "engine/context.py")
_wanted_tags = partial(Mutant, "engine/wanted_tags.py")
_keys = partial(Mutant, "engine/keys.py")
_codec = partial(Mutant, "engine/keyed_codec.py")

MUTANTS = (
    _inner("hold", "if waiting is None:", "if True:", "a cluster is deleted under its machines"),
    _inner(
        "hold",
        "waiting = Waiting(",
        "waiting = None and Waiting(",
        "a cluster is deleted although nobody can tell whether it has machines",
    ),
    _inner(
        "_sealed",
        "if mark.seal in {keys.seal(digest, mark.key, target) for digest in keys.readable}:",
        "if keys:",
        "whoever may tag any resource can hold a cluster's delete for ever",
    ),
    _inner(
        "_exists",
        "return not ident or ident in await driver.observe([Ref(ident, target)])",
        "return True",
        "a machine's resource that is gone holds the cluster's delete as long as the index shows it",
    ),
    _inner(
        "_exists",
        "await ctx.deps.tagger.tags_of(target)",
        "ctx.deps.codec.owner(ctx.owner)",
        "a machine's resource of a kind that is not known here does not hold its cluster",
    ),
    _engine(
        "_delete_waves",
        "if await inner_owners.hold(ctx, present):",
        "if False:",
        "what a cluster has is deleted before what its machines have",
    ),
    _delete(
        "finished",
        "await inner_owners.hold(ctx, ()) or ",
        "",
        "the cluster's finalizer goes before its machines, which are in what was given",
    ),
    _wanted_tags(
        "_named",
        " | codec.within(ctx.owner)",
        "",
        "a machine's resource does not say which cluster it is part of",
    ),
    _keys(
        "ObjectKeys._mac",
        "(owner.within,) if owner.within else ()",
        "()",
        "whoever may tag can move a machine's resource into another cluster, and hold that one's delete",
    ),
    _codec(
        "KeyedCodec.read",
        "uuids=frozenset({found[UUID]} if found.get(UUID) else ()),",
        "uuids=frozenset(found[key] for key in (UUID, WITHIN) if found.get(key)),",
        "a machine cannot delete what is its own, because its cluster's uuid is on it",
    ),
)
