"""Safety lines about parts: what is inside a resource and has no mark of its own."""

from functools import partial

from mutants.rows import Mutant

_engine = partial(Mutant, "engine/engine.py")
_drift = partial(Mutant, "engine/phases/drift.py")
_parts = partial(Mutant, "engine/phases/parts.py")
_delete = partial(Mutant, "engine/phases/delete.py")
_fitness = partial(Mutant, "engine/phases/fitness.py")
_named_parts = partial(Mutant, "engine/phases/named_parts.py")
_dry_run = partial(Mutant, "engine/dry_run.py")
_overlay = partial(Mutant, "engine/overlay.py")

_lists = partial(Mutant, "engine/shared_lists.py")

MUTANTS = (
    _lists(
        "_same",
        " and _behaviors(before) == _behaviors(row)",
        "",
        "a route that somebody leads elsewhere is never led back: a shared list goes on showing the old one",
    ),
    _drift(
        "_sync",
        "no_change = await _refusal(_change(ctx, key, wanted))",
        "no_change = await _change(ctx, key, wanted)",
        "a VPC whose name somebody else has keeps rules of the API server that nobody wants any more",
    ),
    _drift(
        "_sync",
        "no_part = await _refusal(parts.put_in(ctx, key, due), of_part=True) if due else None",
        "no_part = await parts.put_in(ctx, key, due) if due else None",
        "a limit on rules keeps a resource under the name of its birth",
    ),
    _drift(
        "_sync",
        "if no_change:\n        raise no_change",
        "",
        "a change that the cloud refused counts as made, and the object is Ready",
        killed_by="tests/unit/engine/test_engine_drift.py::test_a_change_that_is_refused_is_not_taken_as_made",
    ),
    _drift(
        "_sync",
        "raise no_part",
        "pass",
        "a part that the cloud refused counts as added, and the object is Ready",
    ),
    _drift(
        "_bring",
        "ctx.node(key).look_now()",
        "pass",
        "a change that was refused is compared with what was seen before it",
    ),
    _drift(
        "_bring",
        "entry.parts if shared is entry.shared else ()",
        "entry.parts",
        "a part that the in-cluster provider made is removed when the resource is handed back",
    ),
    _parts(
        "claim",
        "ctx.node(key).parts_refused -= theirs",
        "pass",
        "what others added after a refused add is not ours for the whole life of the process, and is never recorded",
        equivalent="it is not on record as ours then; an add of ours that the cloud takes clears it, too",
    ),
    _parts(
        "claim",
        "node.parts_refused |= ours\n        put_by_others[key] = theirs",
        "node.parts_refused = (node.parts_refused - theirs) | ours",
        "a stranger's part is removed when the wish for it is dropped while that is put on record",
    ),
    _parts(
        "claim",
        "theirs = node.parts_refused & set(map(str, have))",
        "theirs = set()",
        "a part that others added after a refused add of ours is removed with the wish, after a restart",
    ),
    _parts(
        "claim",
        "lacking = lacking or bool(missing)",
        "pass",
        "a route that somebody takes out is never put back: its create is fenced, and nothing new is on record",
    ),
    _parts(
        "is_ours",
        " - ctx.node(key).parts_refused",
        "",
        "a part of others whose add by us was refused is taken out before a delete",
    ),
    _parts(
        "_send",
        "node.part_unknown_at = ctx.now",
        "pass",
        "a part that comes late, after the wish for it has gone, stays for ever",
    ),
    _parts(
        "_concluded",
        " or _may_appear(ctx, key, part, before)",
        "",
        "a part that a dead process added comes late and stays for ever",
    ),
    _engine(
        "ensure",
        "await drift.essential_parts(ctx)",
        "pass",
        "a NAT gateway is requested before its internet gateway is attached",
    ),
    _drift(
        "essential_parts",
        "ctx.ready_nodes.pop(key, None)",
        "pass",
        "a NAT gateway is requested although its internet gateway could not be attached",
    ),
    _parts(
        "lacks_essential",
        "if not essential or not ctx.journal.entries[key].phase.ours",
        "if not essential or ctx.journal.entries[key].phase.ours",
        "nothing waits for an essential part",
    ),
    _parts(
        "wanted",
        "named = node.requires | node.parts_require",
        "named = node.requires",
        "the parts of a node are computed while what they name is not known",
    ),
    _parts(
        "look",
        "if (seen := ctx.node(key).observed.parts) is not None",
        "if (seen := None) is not None",
        "what the look showed is asked for again",
    ),
    _parts(
        "claim",
        " if part not in have",
        "",
        "a part that somebody else had added is removed with the wish for it",
    ),
    _parts(
        "is_ours",
        "return part.kind in ctx.kind(key).exclusive_parts or ",
        "return True or ",
        "parts of others are changed and removed",
    ),
    _parts(
        "diff_parts",
        " if is_ in ours",
        "",
        "a stranger's route is led to our gateway",
    ),
    _parts(
        "diff",
        "have if ctx.kind(key).part_changer else have - wish",
        "have - wish",
        "a route goes on leading to a gateway that was replaced",
    ),
    _parts(
        "take_out",
        "part.kind in kind.holding_parts and is_ours(ctx, key, part)",
        "part.kind in kind.holding_parts",
        "a stranger's network is cut off before a delete that is refused",
    ),
    _delete(
        "next_wave",
        "(free - unknown - held.keys())",
        "(free - unknown)",
        "each delete of a group that another one names is refused, and a person is told to mend it",
        killed_by="tests/unit/engine/test_engine_named_parts.py"
        "::test_what_is_named_waits_as_long_as_what_frees_the_other_cannot_go",
    ),
    _delete(
        "observe_owned",
        "observe_present(ctx, now, named_parts.unseen(ctx, now))",
        "observe_present(ctx, now)",
        "a process that has not seen the other group has each delete refused",
    ),
    _named_parts(
        "held_back",
        " if key in freed]",
        "]",
        "a group that is named in what another owner has now waits for ever, and nobody is told why",
    ),
    _named_parts(
        "_named_by",
        "todo += named",
        "pass",
        "what is named by a group that waits itself is refused",
    ),
    _delete(
        "_take_out_parts",
        "if occupied is None:",
        "if True:",
        "a gateway is detached although it is not deleted",
    ),
    _delete(
        "request",
        "out = await ctx.deps.port.all([_take_out_parts(ctx, key) for key in keys])",
        "out = [None for key in keys]",
        "two groups that name each other are never deleted",
    ),
    _fitness(
        "_inside",
        "if seen is not None and seen.parts is not None:",
        "if False:",
        "what the look at others' resource showed is asked for again",
    ),
    _dry_run(
        "DryRunDriver.find",
        "kind.name_in_region or ",
        "",
        "a plan promises a load balancer whose name a stranger has",
    ),
    _overlay(
        "Overlay.seen",
        "parts=self.parts.get((kind.name, observed.id), observed.parts)",
        "parts=observed.parts",
        "a plan lists a change of a part again in each pass",
    ),
)
