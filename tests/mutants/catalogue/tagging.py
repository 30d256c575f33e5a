"""Safety lines of the tag decisions: whose a tag is, what may be touched, how much is sent."""

from functools import partial

from mutants.rows import Mutant

_wanted = partial(Mutant, "tagging/wanted_keys.py")
_ownership = partial(Mutant, "tagging/ownership.py")
_plan = partial(Mutant, "tagging/plan.py")
_protected = partial(Mutant, "tagging/protected.py")
_classifiers = partial(Mutant, "tagging/classifiers.py")
_batches = partial(Mutant, "tagging/batches.py")
_limits = partial(Mutant, "tagging/limits.py")
_failures = partial(Mutant, "tagging/failures.py")
_conflicts = partial(Mutant, "tagging/conflicts.py")
_alike = partial(Mutant, "tagging/alike.py")

MUTANTS = (
    _wanted(
        "decide_dropped",
        "ours = at.seen & entry.values",
        "ours = at.seen",
        "a value that somebody else set since is removed with the key that left the spec",
        killed_by="tests/unit/tagging/test_tagging_operations.py::TestA11WhoSetTheValue"
        "::test_a_key_that_left_the_spec_stays_with_the_value_of_somebody_else",
    ),
    _wanted(
        "_decide_present",
        "case Holder.FOREIGN if opcode is Opcode.ADD:",
        "case Holder.FOREIGN if False:",
        "add overwrites a foreign value",
    ),
    _wanted(
        "_untouchable",
        "if at.key in classifiers:",
        "if False:",
        "an object changes a classifier, and the fleet deselects itself",
    ),
    _ownership(
        "holder",
        "return Holder.DRIFTED if entry.proof is Proof.CONFIRMED else Holder.FOREIGN",
        "return Holder.DRIFTED",
        "an intention that never took effect makes a foreign value ours",
    ),
    _plan(
        "_Planner.plan",
        "if each.shared and",
        "if False and",
        "an object says that its tags are applied where an older one leaves what both want",
    ),
    _plan(
        "_Planner._write",
        "self._before[key] = earlier.about_to_write(claimant.uid, upsert.value) if earlier else intended",
        "self._before[key] = earlier or intended",
        "the record before a write does not have what is written: after a crash it is nobody's",
    ),
    _plan(
        "Terms.named",
        "return frozenset(keys | set(self.rules.cluster_keys))",
        "return frozenset(keys)",
        "a tag that a cluster asks for is removed because an object dropped it",
    ),
    _protected(
        "access",
        "lowered = _folded(key.strip())",
        "lowered = key.strip()",
        "another spelling of a protected key slips through",
    ),
    _classifiers(
        "select",
        "if not any(map(has, wanted.any_of)):",
        "if False:",
        "whatever the query of the cloud took for a match is tagged",
    ),
    _classifiers(
        "Classifiers",
        "if not self.any_of:",
        "if False:",
        "no classifier selects the whole account",
    ),
    _classifiers(
        "Query",
        "if not self.key or self.values == ():",
        "if not self.key:",
        "a query without values finds the whole account on IBM Cloud",
    ),
    _batches(
        "Batch",
        "if not self.tags:",
        "if False:",
        "DeleteTags without tags removes every tag",
    ),
    _batches(
        "_alike",
        "of.kind, of.account, of.region",
        "of.kind, of.account",
        "resources of two regions are in one call, and those of the second are not tagged",
    ),
    _batches(
        "_alike",
        "of.kind, of.account, of.region",
        "of.account, of.region",
        "CreateTags is sent for what EC2 does not have, and fails for all resources of the call",
    ),
    _batches(
        "_ibm_parts",
        "if each.cause is Cause.OUTDATED and not _has_label(each)]",
        "if not _has_label(each)]",
        "attach with update=true removes foreign values that were not read",
    ),
    _limits(
        "fit",
        "if policy is LimitPolicy.STRICT:",
        "if False:",
        "a strict list is applied in part",
    ),
    _failures(
        "after_refused_call",
        "return (ReadFirst(batch.targets),)",
        "return (SendAgain(batch),)",
        "a call whose reply was lost is sent again without a look",
    ),
    _conflicts(
        "grant_by_age",
        "for claim in sorted(claims, key=lambda each: each.claimant):",
        "for claim in claims:",
        "which of two objects wins hangs on the order in which they are listed",
    ),
    _protected(
        "access",
        "lowered = _folded(key.strip())",
        "lowered = key.lower()",
        "a space before a key lets a mark of ours be written on IBM Cloud, which takes it off",
    ),
    _alike(
        "_state",
        "tuple(map(tags.get, terms.decisive)),",
        "tuple(map(tags.get, terms.named)),",
        "an exempt resource is tagged by the plan of one that is not",
    ),
    _alike(
        "_state",
        "limit_of(resource) - slots_used(resource),",
        "",
        "a full resource is tagged by the plan of one with room, and the cloud refuses the whole batch",
    ),
    _alike(
        "_state",
        "tuple(map(tags.get, terms.decisive)),",
        "",
        "a foreign value is overwritten by the plan of a resource that has none",
    ),
    _alike(
        "_state",
        "(key, entry, tags.get(key))",
        "(key, entry)",
        "what somebody set since is removed by the plan of a resource that has our value",
    ),
    _alike(
        "_state",
        "(key, entry, tags.get(key))",
        "(key, tags.get(key))",
        "what another object wrote is removed by the plan of a resource where we wrote it",
    ),
    _alike(
        "Plans.on",
        "if not plan.notes:",
        "if True:",
        "a note names another resource",
    ),
)
