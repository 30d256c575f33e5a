"""Lines about the calls that marks cost: what is read and written together, and what is not read at all."""

from functools import partial

from mutants.rows import Mutant

_mark = partial(Mutant, "engine/phases/mark.py")
_read_marks = partial(Mutant, "engine/phases/read_marks.py")
_engine = partial(Mutant, "engine/engine.py")
_recovery = partial(Mutant, "engine/phases/recovery.py")
_create = partial(Mutant, "engine/phases/create.py")
_confirm = partial(Mutant, "engine/phases/confirm.py")
_inventory = partial(Mutant, "engine/inventory.py")
_lists = partial(Mutant, "engine/shared_lists.py")
_delete = partial(Mutant, "engine/phases/delete.py")
_stand_in = partial(Mutant, "engine/tag_stand_in.py")

MUTANTS = (
    _read_marks(
        "_may_be_readable",
        "return node.attached is None or node.seen_since_attach",
        "return True",
        "a look from before the attach is asked whether the mark is there",
        equivalent="it does not show the mark that is attached afterwards, so it proves nothing: a call more",
    ),
    _mark(
        "attach",
        "if observed.tags is not None and node.look_at == inf and not ctx.deps.tagger.asks_resources:",
        "if False:",
        "the marks of what is there at once are not read back before the next deep look",
    ),
    _read_marks(
        "_judge_marks",
        "if observed.tags is not None and not complete and ctx.node(key).seen_since_attach:",
        "if False:",
        "a mark that a first look did not show is not looked for again",
    ),
    _mark(
        "_not_shown",
        "if have is None or observed.carried:",
        "if True:",
        "a resource gets again what it was born with, so that no two calls are alike",
    ),
    _mark(
        "_together",
        "codec.joined(beside | {seals[target] for target in some})",
        "codec.joined(beside | {seals[some[0]]})",
        "one resource of a wave has a seal that fits, and the others never",
    ),
    _mark(
        "_together",
        "some = targets[start : start + codec.seals_together]",
        "some = targets[start:]",
        "a value gets more seals than it has room for",
    ),
    _read_marks(
        "verify",
        "if ctx.deep or asks_index(ctx, due) else {}",
        "if ctx.deep or True else {}",
        "the index is read in each wave, although looks show the marks",
    ),
    _read_marks(
        "verify",
        "if ctx.deep or asks_index(ctx, due) else {}",
        "if asks_index(ctx, due) else {}",
        "what is ours and on no record is not looked for where looks show the marks",
    ),
    _read_marks(
        "asks_index",
        " and ctx.kind(key).indexed",
        "",
        "an index is read for what it never lists",
    ),
    _engine(
        "_delete_waves",
        "if not state.index_read:",
        "if False:",
        "a delete does not look for what is ours and on no record before it begins",
    ),
    _engine(
        "_ends_at_rest",
        " or not ctx.kind(key).indexed",
        "",
        "an object with an IAM role is never at rest",
    ),
    _engine(
        "ensure",
        "await recovery.unlisted(ctx)",
        "pass",
        "what no index lists is lost behind a forged record",
    ),
    _recovery(
        "unlisted",
        "proofs.evidence(ctx, key, seen, seen.tags or ()).strength is Strength.PROVEN",
        "True",
        "a namesake is recorded as ours behind a forged record",
    ),
    _create(
        "_may_exist",
        " and ctx.state.minted",
        "",
        "a new process does not look for what an earlier one made, and makes a second",
    ),
    _create(
        "_may_exist",
        "free and ",
        "",
        "a name that somebody else has is not seen before the create",
    ),
    _confirm(
        "_unlisted",
        "if isinstance(tags, CloudError):",
        "if False:",
        "marks that could not be read are confirmed",
    ),
    _create(
        "_is_in_new_home",
        "all(entry.phase.ours for entry in homes)",
        "True",
        "in a given place a stranger's name is not seen before the create",
    ),
    _read_marks(
        "_is_unclear",
        "return ctx.deps.tagger.asks_resources and not ctx.node(key).seen_since_attach",
        "return False",
        "the marks of what is there at once are never read back where the resources are asked",
    ),
    _recovery(
        "_still_tagged",
        " and item.ref.id in ctx.state.deleted",
        "",
        "what somebody took the tags off counts as gone, and is an orphan",
    ),
    _delete(
        "_leave",
        "await kind.remains.remains(Ref(entry.id, entry.target)) if kind.remains else ()",
        "()",
        "deletes are sent that what a load balancer leaves behind refuses",
    ),
    _delete(
        "_done",
        "if ctx.kind(key).remains is None:",
        "if True:",
        "what a load balancer leaves behind is not waited for when its delete was answered",
    ),
    _inventory(
        "Inventory.shared",
        "left_out <= without and ",
        "",
        "what an index was not asked for counts as not there",
    ),
    _lists(
        "SharedLists._read",
        " and len(tags) == len(shown)",
        "",
        "a list that shows tags of some only stands in for the index of all",
    ),
    _lists(
        "SharedLists.marked",
        " and now - shared.taken <= max_age",
        "",
        "an old list stands in for the index",
    ),
    _stand_in(
        "StandInTagger.ask",
        "except _NOT_THERE:",
        "except CloudError:",
        "an outage of the tag API is answered by something else for an hour",
    ),
    _stand_in(
        "StandInTagger._change",
        "if change.target in refused]",
        "]",
        "what the tag API attached is attached a second time by the services",
    ),
    _stand_in(
        "StandInTagger._refused",
        "if refused and len(refused) == of:",
        "if refused:",
        "one resource that may not be tagged keeps the others from the tag API",
    ),
    _stand_in(
        "StandInTagger.is_refused",
        "< ASKED_AGAIN",
        "< inf",
        "a permission that was granted is never noticed",
    ),
)
