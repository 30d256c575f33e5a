"""Safety lines of what a delete keeps because it has lost a mark, and of what a person gives up (ADR 7)."""

from functools import partial

from mutants.rows import Mutant

_lost = partial(Mutant, "engine/phases/lost_marks.py")
_delete = partial(Mutant, "engine/phases/delete.py")
_decide = partial(Mutant, "engine/phases/decide.py")
_mark = partial(Mutant, "engine/phases/mark.py")
_read_marks = partial(Mutant, "engine/phases/read_marks.py")
_journal = partial(Mutant, "engine/journal.py")
_observe = partial(Mutant, "engine/phases/observe.py")
_proofs = partial(Mutant, "engine/proofs.py")
_questions = partial(Mutant, "controllers/recovery/open_decisions.py")
_rows = partial(Mutant, "providers/objects/resource_rows.py")
_recovery = partial(Mutant, "controllers/recovery/lost_objects.py")
_recover = partial(Mutant, "cli/commands/recover.py")

MUTANTS = (
    _delete(
        "_has_lost_marks",
        "and ctx.state.releasing ",
        "",
        "what lost its marks while its object lives is not marked again before it is pruned",
        equivalent="the next deep pass of a living object marks it again: it is pruned ten minutes later",
    ),
    _delete(
        "_has_lost_marks",
        "ctx.journal.entries[key].had_marks",
        "False",
        "what somebody took a tag off to keep it is marked again and deleted",
    ),
    _delete(
        "_has_lost_marks",
        "ctx.journal.entries[key].had_marks",
        "True",
        "what an interrupted create has made is not marked, and stays",
    ),
    _delete(
        "finished",
        "ctx.journal.ours.keys() - kept",
        "ctx.journal.ours",
        "an object with something kept is never released",
    ),
    _delete(
        "request",
        "read_back=entry.phase is not Phase.OWNED",
        "read_back=False",
        "what a delete has marked and read is marked a second time when somebody takes its marks off",
    ),
    _lost(
        "judge",
        "if ctx.settled(key, since):",
        "if True:",
        "one read that lags leaves a resource of ours behind",
    ),
    _lost(
        "holders",
        "requirements(key, ours, entries, registry) | named_parts.named_by(ctx, key, ours)",
        "named_parts.named_by(ctx, key, ours)",
        "the delete waits for ever for what has a kept resource in it",
    ),
    _lost(
        "holders",
        " | named_parts.named_by(ctx, key, ours)",
        "",
        "the rules of a group are taken out that a kept group names, and its delete is refused for ever",
    ),
    _lost(
        "holders",
        " or entry.phase is Phase.GIVEN_UP",
        "",
        "the delete waits for ever for what has something in it that a person gave up",
    ),
    _lost(
        "look_at_given_up",
        "ctx.journal = ctx.journal.drop(key)",
        "pass",
        "what somebody has deleted holds the VPC that it was in for ever",
    ),
    _lost(
        "look_at_given_up",
        "elif ctx.settled(key, since := earliest(node.absent_since, ctx.now)):",
        "elif since := 1.0:",
        "one read that lags forgets what a person gave up, and the delete waits for it for ever",
    ),
    _lost(
        "look_at_given_up",
        "node.last_seen, node.absent_since = seen, None",
        "node.absent_since = None",
        "a group that a rule of a given-up group names is refused for ever",
    ),
    _lost(
        "outcome_of",
        "if is_lost(ctx, holder) and not isinstance(ctx.outcomes.get(holder), Kept):",
        "if False:",
        "what a resource needs counts as kept before its marks count as lost",
        equivalent="the object is not let go while the marks of the holder are still read: only the status differs",
    ),
    _mark(
        "attach",
        " or (ctx.state.releasing and entry.had_marks)",
        "",
        "a delete attaches the marks of a resource that was being healed, and deletes it",
    ),
    _read_marks(
        "tags_now",
        "ctx.state.releasing or ",
        "",
        "what an index still shows deletes a resource whose tag somebody has taken off",
    ),
    _journal(
        "Entry.to_mark_again",
        "read_back=self.had_marks",
        "read_back=False",
        "a resource that was being healed when its object was deleted is marked and deleted",
    ),
    Mutant(
        "engine/phases/recovery.py",
        "put_on_record",
        "read_back=marks_seen",
        "read_back=False",
        "what an index still shows of a lost record is marked again and deleted",
    ),
    _observe(
        "record_owned",
        "replace(record, read_back=False)",
        "record",
        "what a person calls ours in a delete is kept all the same",
    ),
    _decide(
        "_mine",
        "ctx.state.releasing and entry is not None and entry.had_marks",
        "False",
        "what a person calls ours in a delete is kept all the same",
    ),
    _decide(
        "_give_up",
        "raise error",
        "pass",
        "what has our marks still is forgotten",
    ),
    _decide(
        "_give_up",
        ".put(key.beside(entry.id), given_up)",
        "",
        "an index that still shows our marks brings back what a person gave up",
    ),
    _proofs(
        "own_marks",
        "and not codec.read([tag]).carried",
        "",
        "the marks of connections that stay ours are taken off the gateway that is given up",
    ),
    _proofs(
        "own_marks",
        "if not others or not",
        "if True or not",
        "another owner's marks are taken off with ours",
    ),
    _questions(
        "_has_lost_a_mark",
        "if not ctx.kind(key).markable:",
        "if False:",
        "a person is asked about what nothing can mark, in each delete",
    ),
    _rows(
        "sentences",
        " or is_kept_of_ours(outcome)",
        "",
        "no condition names what a delete keeps",
    ),
    _recovery(
        "Recovery.unread",
        " and one.source != UNKNOWN_KIND",
        "",
        "a person is told to run a command again that says the same for ever",
    ),
    _recover(
        "_refuse_unclear",
        "if recovery.without_node and not (recovery.proven or recovery.born or recovery.unproven):",
        "if False:",
        "an object is made again that has nothing",
    ),
)  # fmt: skip
