"""Safety lines where tags are a map: whose a value is, and what an attach or a detach would do to it."""

from functools import partial

from mutants.rows import Mutant

_keyed = partial(Mutant, "engine/phases/keyed_tags.py")
_given = partial(Mutant, "engine/phases/given_tags.py")
_mark = partial(Mutant, "engine/phases/mark.py")
_detach = partial(Mutant, "engine/phases/detach.py")
_read_marks = partial(Mutant, "engine/phases/read_marks.py")
_renewal = partial(Mutant, "engine/phases/renewal.py")
_context = partial(Mutant, "engine/context.py")
_birth_marks = partial(Mutant, "engine/birth_marks.py")
_wanted_tags = partial(Mutant, "engine/wanted_tags.py")
_create = partial(Mutant, "engine/phases/create.py")
_delete = partial(Mutant, "engine/phases/delete.py")
_drift = partial(Mutant, "engine/phases/drift.py")
_parts = partial(Mutant, "engine/phases/parts.py")
_prune = partial(Mutant, "engine/phases/prune.py")
_recovery = partial(Mutant, "engine/phases/recovery.py")
_others = partial(Mutant, "controllers/other_objects.py")
_codec = partial(Mutant, "engine/keyed_codec.py")

MUTANTS = (
    _keyed("conflicts", "if not codec.keyed:", "if True:", "another's value under a key of ours is overwritten"),
    _keyed("detach", "if not codec.keyed:", "if True:", "a detach takes a key whose value is another's"),
    _keyed(
        "superseded",
        "if codec.keyed else set()",
        "if False else set()",
        "where reads lag, a value is taken off with the one that it has replaced",
    ),
    _keyed(
        "_ours",
        "ctx.journal.tags | proofs.seals(ctx, key, observed)",
        "proofs.seals(ctx, key, observed)",
        "our own earlier value counts as another's, so that a changed tag never follows the spec",
    ),
    _keyed(
        "_ours",
        "{key.beside(observed.id), *(mark.key for mark in marks)}",
        "{mark.key for mark in marks}",
        "the marks of our own that was on record beside another count as another's, and are never replaced",
    ),
    _create(
        "_namesake",
        "proven = candidate.carried or proofs.evidence(ctx, own, candidate, tags).strength is Strength.PROVEN",
        "proven = candidate.carried",
        "our own that is on record beside a forged record is never used again",
    ),
    _create(
        "_namesake",
        "if proven and own not in",
        "if own not in",
        "what another owner has taken over is put on record again",
    ),
    _given(
        "_missing",
        " - {tag for tag, _ in taken}",
        "",
        "another's value on a given resource is overwritten, and taken off with the object",
    ),
    _read_marks(
        "_judge_marks",
        "elif blocked := keyed_tags.proof_taken(ctx, key, observed, taken, tags):",
        "elif blocked := None:",
        "a resource whose proof somebody overwrote is only said to wait",
    ),
    _detach(
        "_no_longer",
        " and not codec.is_mark(tag)",
        "",
        "a mark of others that somebody wrote among the user's tags of the journal is taken off",
    ),
    _mark(
        "attach",
        "except NotFound as error:",
        "except ZeroDivisionError as error:",
        "a new resource that the tag service does not know yet is blocked for five minutes",
    ),
    _mark(
        "attach",
        "if blocked := keyed_tags.proof_taken(ctx, key, observed, ctx.node(key).taken, have or ()):",
        "if blocked := None:",
        "a new resource whose proof somebody else wrote is said to be marked soon",
    ),
    _detach(
        "dropped",
        "frozenset() if _shown_as_wanted(ctx) else replaced",
        "frozenset() if True else replaced",
        "a value of ours that is not replaced yet counts as another's, and stays",
    ),
    _detach(
        "_off",
        ", *refused}",
        "}",
        "a tag that a node refuses stays where an earlier version put it",
    ),
    _detach(
        "dropped",
        "replaced | _superseded_by_nodes(ctx, of_user)",
        "replaced",
        "a Name of the user's that the default one replaces counts as another's, and stays",
    ),
    _given(
        "_note_refused",
        " if pair[0] in wanted[target]",
        "",
        "a tag that the spec dropped is said for ever to be another's",
    ),
    _renewal(
        "_both_seals",
        "if not codec.keyed:",
        "if True:",
        "a renewal overwrites the seal that the record still names, and both are written in turn for ever",
    ),
    _birth_marks(
        "_is_of",
        "one == other",
        "str(marked).casefold() == str(key)",
        "a name with capitals is not known again after a crash: a second resource is made",
    ),
    _birth_marks(
        "_is_of",
        "one == other",
        "marked == key",
        "a long name, which its mark has cut, is not known again after a crash: a second resource is made",
    ),
    _wanted_tags(
        "beside_marks",
        "node_tags(ctx, key)",
        "frozenset()",
        "a resource never gets the tags of its node",
    ),
    _wanted_tags(
        "tags_on_given",
        "node.given_tags",
        "frozenset()",
        "a given resource never gets the tags of the node that uses it",
    ),
    _mark(
        "attach",
        "*entry.node_tags, *wanted_tags.node_tags(ctx, key)",
        "*entry.node_tags",
        "a tag of the node that the spec drops before it was read back stays for ever",
    ),
    _detach(
        "_off",
        ", *ctx.journal.entries[key].node_tags",
        "",
        "a tag of the node that the spec drops stays",
    ),
    _detach(
        "_forget_node_tags",
        "wanted_tags.node_tags(ctx, key) if key in ctx.verified else frozenset(entry.node_tags) - off",
        "wanted_tags.node_tags(ctx, key)",
        "a tag that is not replaced yet counts as another's, and stays",
    ),
    _create(
        "create",
        "node_tags=tuple(sorted(wanted_tags.node_tags(ctx, node.key))),",
        "",
        "a tag that a create under way sets is forgotten, and stays when the spec drops it",
    ),
    _create("create", "shared=node.shared,", "", "what is shared is pruned like what is ours alone"),
    _prune(
        "_is_prunable",
        " and ctx.category(key) is not Category.SHARED",
        "",
        "what the in-cluster provider uses is pruned",
    ),
    _parts(
        "are_looked_at",
        "ctx.category(key) is Category.SHARED or ",
        "",
        "rules of the in-cluster provider are removed",
    ),
    _drift(
        "_changes",
        "if _is_shared(ctx, key):",
        "if False:",
        "what the in-cluster provider has set is set back",
    ),
    _others(
        "claimed",
        "journal.tags | set(entry.node_tags)",
        "journal.tags",
        "a tag of another object's node is taken off its resource",
    ),
    _codec(
        "KeyedCodec.fold",
        "for word in words or",
        "for word in words[:1] or",
        "of the seals in one value only the first one proves",
    ),
    _detach(
        "_is_left_alone",
        "return claimed or _has_no_seal_of_ours(ctx, key)",
        "return claimed",
        "a tag is taken off what has another's value in place of our seal",
    ),
    _detach(
        "dropped",
        "(ctx.journal.open or any(_has_no_seal_of_ours(ctx, key) for key in ctx.journal.ours))",
        "ctx.journal.open",
        "a dropped tag of what a person was to look at is forgotten",
    ),
    _keyed(
        "lost_seal",
        "not (proofs.is_accepted(ctx, key, observed, have) or proofs.is_decided(ctx, key, observed, have))",
        "False",
        "another's value in place of our seal is overwritten",
    ),
    _read_marks(
        "_judge_marks",
        "{*entry.node_tags, *lost}",
        "entry.node_tags",
        "a seal of a lost key looks like another's value once its record is signed anew",
    ),
    _read_marks(
        "_close",
        "node_tags=() if entry.carried else entry.node_tags",
        "node_tags=entry.node_tags",
        "an object with a carried resource whose key was lost never comes to rest",
    ),
    _recovery(
        "put_on_record",
        "shared=free not in ctx.graph.nodes",
        "shared=False",
        "what the in-cluster provider uses is pruned after a restore",
    ),
    _given(
        "_take_off",
        "if ctx.state.tags_checked.get(target) != wanted.get(target) else frozenset()",
        "if False else frozenset()",
        "a value of ours on what is given, not replaced yet, looks like another's and stays for ever",
    ),
    _drift(
        "_changes",
        "replace(observed, tags=None)",
        "observed",
        "a name that the in-cluster provider has given is set back",
    ),
    _create(
        "_may_exist",
        " or ctx.state.planning",
        "",
        "after a restore a plan shows that everything is made a second time",
    ),
    _mark(
        "attach",
        "elif observed.tags is None and ctx.node(key).attached is None:",
        "elif False:",
        "after an attach whose reply was lost an object waits for ever",
    ),
)
