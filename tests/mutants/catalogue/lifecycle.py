"""Safety lines of the engine: keys, proof, journal, creating, marking, deleting, the final check."""

from functools import partial

from mutants.rows import Mutant

_intents = partial(Mutant, "engine/phases/intents.py")
_observe = partial(Mutant, "engine/phases/observe.py")
_create = partial(Mutant, "engine/phases/create.py")
_drift = partial(Mutant, "engine/phases/drift.py")
_parts = partial(Mutant, "engine/phases/parts.py")
_graph = partial(Mutant, "engine/graph.py")
_order = partial(Mutant, "engine/deletion_order.py")
_inventory = partial(Mutant, "engine/inventory.py")
_kinds = partial(Mutant, "engine/kinds.py")
_outcomes = partial(Mutant, "engine/outcomes.py")
_port = partial(Mutant, "engine/port.py")
_keys = partial(Mutant, "engine/keys.py")
_ownership = partial(Mutant, "engine/ownership.py")
_journal = partial(Mutant, "engine/journal.py")
_state = partial(Mutant, "engine/state.py")
_context = partial(Mutant, "engine/context.py")
_birth_marks = partial(Mutant, "engine/birth_marks.py")
_proofs = partial(Mutant, "engine/proofs.py")
_wanted_tags = partial(Mutant, "engine/wanted_tags.py")
_engine = partial(Mutant, "engine/engine.py")
_prune = partial(Mutant, "engine/phases/prune.py")
_mark = partial(Mutant, "engine/phases/mark.py")
_detach = partial(Mutant, "engine/phases/detach.py")
_read_marks = partial(Mutant, "engine/phases/read_marks.py")
_delete = partial(Mutant, "engine/phases/delete.py")
_recovery = partial(Mutant, "engine/phases/recovery.py")
_final_check = partial(Mutant, "engine/phases/final_check.py")
_renewal = partial(Mutant, "engine/phases/renewal.py")
_confirm = partial(Mutant, "engine/phases/confirm.py")
_lists = partial(Mutant, "engine/shared_lists.py")
_durations = partial(Mutant, "engine/durations.py")
_polling = partial(Mutant, "engine/polling.py")
_schedule = partial(Mutant, "engine/schedule.py")

_given_tags = partial(Mutant, "engine/phases/given_tags.py")

_decide = partial(Mutant, "engine/phases/decide.py")
_decisions = partial(Mutant, "engine/decisions.py")
_other_objects = partial(Mutant, "controllers/other_objects.py")
_fitness = partial(Mutant, "engine/phases/fitness.py")

DECISIONS = (
    _decide(
        "apply",
        "if not decisions.is_signed(decision, ctx.keys):",
        "if False:",
        "whoever may edit the object decides what is deleted with it",
    ),
    _decisions(
        "_signature",
        'said = (decision.node, decision.id, str(decision.attempt), decision.by, f"{decision.at:.3f}")',
        "said = (decision.node, str(decision.attempt))",
        "a signed decision is copied to another resource",
    ),
    _decisions(
        "_signature",
        'f"decision {decision.verdict}"',
        '"decision"',
        "a signed decision is turned into its opposite",
    ),
    _decide(
        "_mine",
        "elif whose:",
        "elif False:",
        "what another owner's mark is on is recorded as ours, and deleted with the object",
    ),
    _decide(
        "_mine",
        "if is_recorded and ctx.is_believed(key) and",
        "if is_recorded and",
        "what a person calls ours is answered for and not recorded, so the delete never ends",
    ),
    _decide(
        "_drop",
        "or entry.id != decision.id ",
        "",
        "a record is dropped that was written after the person had decided about another one",
    ),
    _decide(
        "_drop",
        "elif ctx.is_believed(key):",
        "elif False:",
        "a resource that this operator recorded is forgotten before its mark can be read",
    ),
    _decide(
        "_drop",
        "replace(journals.let_go(entry), attempt=entry.attempt)",
        "journals.let_go(entry)",
        "a forged record spends the nonce by which our own resource is found",
    ),
    _decide(
        "_not_mine",
        "if left > 0:",
        "if False:",
        "a create that may still take effect is given up, and made a second time",
    ),
    _decide(
        "_not_mine",
        "fails=0, attempt=decision.attempt + 1",
        "fails=0",
        "one decision lets two creates through",
    ),
    _decisions(
        "answered",
        ', signature=""',
        "",
        "an old approval deletes what is surplus again",
    ),
    _decide(
        "apply",
        "if ctx.deps.clock.now() - decision.at > decisions.LIFE and decision.about not in being_pruned(ctx):",
        "if False:",
        "a stored copy of an approval deletes for ever",
    ),
    _other_objects(
        "claimed",
        "if ring is None or _is_proven(raw, journal, target, row, ring):",
        "if True:",
        "a forged record of one object has a stranger's tag taken off with another one",
    ),
    _given_tags(
        "_attach",
        "if not isinstance(error, Unknown):",
        "if False:",
        "a tag whose attach was refused is taken off its owner's resource",
    ),
    _fitness(
        "check",
        "if refusal and refusal.reason is not Reason.UNFIT:",
        "if False:",
        "a Ready cluster is taken down because nobody may look",
    ),
    _decide(
        "_not_mine",
        "entry.attempt != decision.attempt or ",
        "",
        "a decision that is acted on twice closes a later create",
    ),
    _decide(
        "_prune",
        "elif key in ctx.graph.nodes:",
        "elif False:",
        "what the spec wants again is deleted, because a person approved it before",
    ),
    _prune(
        "prune",
        "await delete.request(ctx, proven - await _held(ctx, proven))",
        "await delete.request(ctx, proven)",
        "what another object uses is deleted",
    ),
    _prune(
        "_users",
        "users = await kind.usage.users(Ref(seen.id, seen.target)) if kind.usage else ()",
        "users: tuple[User, ...] = ()",
        "a load balancer is deleted with servers behind it",
    ),
    _prune(
        "_refuse_used",
        "if serves := sorted(deletion_order.requirements(key, stays, ctx.journal.entries, registry)):",
        "if serves := list[NodeKey]():",
        "the routes of a subnet with machines are deleted, and the listeners of the endpoint",
    ),
    _prune(
        "_held",
        "needed = {key for each in approved for key in deletion_order.requirements(each, unwanted, entries, registry)}",
        "needed = set[NodeKey]()",
        "the routes of a subnet with machines are deleted where nobody has asked for the subnet",
    ),
    _prune(
        "_users",
        'words = {seen.id, seen.id.rpartition("/")[2], seen.name, seen.target, *addresses}',
        'words = {seen.id, seen.id.rpartition("/")[2], seen.name, seen.target}',
        "the load balancer of the endpoint is deleted",
    ),
    _prune(
        "prune",
        "_refuse(ctx, _needed_by_us(ctx))",
        "pass",
        "a decision about what something of ours needs is never answered",
    ),
)

GIVEN_TAGS = (
    _given_tags(
        "_attach",
        "await ctx.save_before_write()",
        "pass",
        "a tag is put on what is given before it is on record: a process that dies there leaves it for ever",
    ),
    _given_tags(
        "_missing",
        "frozenset(tag for tag in wanted if not fold([tag]) & have) - ",
        "wanted - ",
        "a tag that somebody else had attached is recorded as ours, and taken off with the object",
    ),
    _given_tags(
        "_missing",
        "shared = frozenset(tag for tag in wanted if fold([tag]) & others & claimed)",
        "pass",
        "of two objects with one tag the last one leaves it there",
    ),
    _given_tags(
        "_detach",
        "off = frozenset(tag for tag in dropped if not fold([tag]) & claimed)",
        "off = dropped",
        "the first of two objects to go takes the tag from the other one",
    ),
    _given_tags(
        "_take_off",
        "if left > 0:",
        "if False:",
        "an attach of a process that died takes effect after the tag was taken off",
    ),
    _keys(
        "ObjectKeys.are_signed",
        "return digest in self.readable and is_same(signature, self.tags_signature(digest, target, tags))",
        "return True",
        "whoever may edit the object has any tag taken off any resource",
    ),
    _given_tags(
        "take_back",
        "return not dict(_rows(ctx))",
        "return True",
        "the finalizer goes although a tag could not be taken off",
    ),
    _given_tags(
        "to_spec",
        "_record(ctx, target, row.tags)",
        "pass",
        "the record of a tag stays under a retired key, and the tag stays for ever",
    ),
)

INTENTS = (
    _intents(
        "_no_effect",
        "if not ctx.settled(key, since):",
        "if False:",
        "a create that reads do not show yet is closed at once, and sent again",
    ),
    _intents(
        "_resolve",
        "if len(ours) == 1:",
        "if ours:",
        "of two resources with one nonce the first counts as ours",
    ),
    _intents(
        "_resolve",
        "await _replay(ctx, key, entry, candidates)",
        "await _no_effect(ctx, key, entry)",
        "a create with a client token is closed without a replay of the token",
    ),
    _intents(
        "_resolve",
        "elif entry.key not in ctx.keys.readable:",
        "elif False:",
        "a create whose nonce cannot be computed any more counts as one that had no effect",
    ),
    _intents(
        "_resolve",
        "elif entry.key not in ctx.keys.readable:",
        "elif entry.key and entry.key not in ctx.keys.readable:",
        "an open create that anybody wrote is sent to the cloud",
    ),
    _intents(
        "_without_token",
        "if not ctx.kind(key).tells_apart and candidates:",
        "if False:",
        "a namesake of an interrupted create counts as a stranger's",
    ),
    _intents(
        "_replay",
        "except NeedsPerson as error:",
        "except NeedsPerson:\n        await _no_effect(ctx, key, entry)\n    except ZeroDivisionError as error:",
        "a denied replay counts as a create that had no effect",
    ),
    _intents(
        "_replay",
        "driver.create(request, birth)",
        "driver.create(ctx.graph.nodes[key].request(ctx.ready_nodes) if key in ctx.graph.nodes else {}, birth)",
        "a create is replayed with today's spec",
    ),
    _intents(
        "_replay",
        "if not (young := _young(entry, candidates)):",
        "if not (young := []):",
        "a replay that finds the name taken counts as a create without effect, although its first request took it",
    ),
    _intents(
        "_replay",
        "await ctx.save_before_write()",
        "pass",
        "a replay is sent by a process that has lost its object",
    ),
    _intents(
        "resolve_open",
        "ctx.outcomes[key] = of_error(outcome)",
        "await _resolve(ctx, key, open_now[key], (), {})",
        "a failed list counts as an empty one",
    ),
    _intents(
        "resolve_open",
        "ctx.outcomes[key] = of_error(marked)",
        "await _resolve(ctx, key, open_now[key], outcome or (), {})",
        "marks that could not be read count as none",
    ),
    _intents(
        "_record_made",
        "for (key, attempt), made in list(ctx.state.made.items()):",
        "for (key, attempt), made in ():",
        "the reply of a create is forgotten when it could not be recorded",
    ),
    _observe(
        "_absent",
        "elif not ctx.settled(key, since):",
        "elif False:",
        "one read that shows nothing counts as gone, and the resource is created again",
    ),
    _observe(
        "find",
        "result if isinstance(result, CloudError) else",
        "() if isinstance(result, CloudError) else",
        "a failed list counts as an empty one",
    ),
    _observe(
        "by_key",
        "found[key] = result if isinstance(result, CloudError) else itself(ctx, key, result)",
        "found[key] = None if isinstance(result, CloudError) else itself(ctx, key, result)",
        "a failed read counts as gone",
        nth=1,
    ),
    _observe(
        "by_key",
        "missing = [k for k, seen in found.items() if seen is None and len(by_kind[k.kind]) > 1]",
        "missing: list[NodeKey] = []",
        "a resource missing in a list because the credentials may not see it counts as gone",
    ),
    _observe(
        "assess",
        "ctx.delete_is_fresh(key)",
        "False",
        "a resource whose delete was just requested counts as ready again",
    ),
    _observe(
        "_only_here",
        "ctx.journal = ctx.journal.put(other, let_go(entry))",
        "pass",
        "one resource is recorded twice, as wanted and as surplus",
    ),
    _observe(
        "record_owned",
        "signature=ctx.sign(key, observed.id, observed.incarnation)",
        'signature=""',
        "a record has no signature, and proves nothing",
    ),
    _observe(
        "itself",
        "return None if ctx.node(key).id_taken else seen",
        "return seen",
        "a stranger's load balancer that has got our name is marked as ours, and deleted",
    ),
    _context(
        "PassContext.may_be_another",
        "return bool(entry and entry.deleting and not entry.incarnation and self.kind(key).id_returns)",
        "return False",
        "a stranger's bucket that was made when ours had gone is marked as ours, and deleted",
    ),
    _final_check(
        "_free",
        "(node.requires <= known.keys() or ctx.kind(node.key).name_in_region)",
        "node.requires <= known.keys()",
        "a load balancer of ours that lost all its tags before it was on record stays, and nobody is told",
    ),
    _context(
        "PassContext.recognised",
        "if self.may_be_another(key) and not self.may_go(key) else entry",
        "if False else entry",
        "our bucket whose delete was refused gets no mark again, and a person is asked whose it is",
    ),
    _context(
        "PassContext.may_go",
        "return max(0.0, self.kind(key).settle - max(0.0, since))",
        "return 0.0",
        "a delete that takes effect late makes the bucket that a stranger makes then ours",
    ),
    _delete(
        "request",
        "if not entry.deleting or ctx.may_be_another(key):",
        "if not entry.deleting:",
        "a second delete that takes effect late makes the bucket that a stranger makes then ours",
    ),
    _read_marks(
        "_close",
        "believed = stays and not ctx.may_go(key)",
        "believed = stays",
        "a bucket of which all marks were read before its delete took effect counts as ours for ever",
    ),
    _proofs(
        "_is_of_record",
        "if not ctx.is_signed(key):",
        "if False:",
        "a forged id in the journal is a proof",
    ),
    _proofs(
        "_is_of_record",
        "return not ctx.may_be_another(key) or birth_marks.has_birth_mark(ctx, key, shown)",
        "return True",
        "a stranger's bucket that was made when ours had gone is taken for the one on record",
    ),
    _proofs(
        "_is_of_record",
        "shown = replace(observed, tags=frozenset(tags))",
        "shown = observed",
        "our bucket that got no seal before its delete was refused is never deleted",
    ),
    _read_marks(
        "_is_unclear",
        "ctx.may_be_another(key) or ",
        "",
        "what the index still shows of our bucket makes ours the one that somebody made after it",
    ),
    _read_marks(
        "_judge_marks",
        "not in (Strength.PROVEN, Strength.HEALABLE)",
        "is not Strength.PROVEN",
        "our bucket whose delete was refused and that lost its owner's marks is not marked again",
    ),
    _keys(
        "ObjectKeys.signature",
        'f"{ident}\\0{incarnation}" if incarnation else ident',
        "ident",
        "whoever may edit the object makes a stranger's load balancer of our name ours",
    ),
)

CANDIDATES = (
    _create(
        "_why_not_created",
        "if not ctx.state.minted and not ctx.settled(key, ctx.state.first_seen):",
        "if False:",
        "a restarted process creates at once, although a create of the earlier one may be under way",
    ),
    _create(
        "_why_not_created",
        "if not any((e := ctx.journal.get(k)) and e.phase.ours for k in carriers):",
        "if False:",
        "a bucket is created on a carrier that is not ours, and cannot be marked",
    ),
    _create(
        "_why_not_created",
        "if entry and entry.fails >= kind.attempts:",
        "if False:",
        "a resource that somebody deletes each time is created again and again",
    ),
    _create(
        "_decide_by_candidates",
        "if candidates and not named:",
        "if False:",
        "the create does not wait for a namesake that is being deleted",
    ),
    _create(
        "_decide_by_candidates",
        "if len(named) > 1:",
        "if False:",
        "of several namesakes one is used",
    ),
    _create(
        "_decide_by_candidates",
        "        ctx.block(key, of_error(error))\n        return False\n    if len(ours) == 1:",
        "        ours = ()\n    if len(ours) == 1:",
        "marks that could not be read count as none",
    ),
    _create(
        "_claimed",
        "if len(ours) == 1 or len(candidates) < 2 or not unread:",
        "if True:",
        "the marks of several namesakes are not read",
    ),
    _create(
        "_namesake",
        "if strength is Strength.PROVEN:",
        "if True:",
        "a namesake is adopted because of its name",
    ),
    _create(
        "_namesake",
        "taken = False if candidate.carried else strength in (Strength.OTHERS, Strength.DISPUTED, Strength.COPIED)",
        "taken = False",
        "another owner's resource is used by its name",
    ),
    _create(
        "_namesake",
        "if young > 0:",
        "if False:",
        "a namesake that may be of our own create in flight counts as a stranger's",
    ),
    _create(
        "_namesake",
        "ctx.block(key, of_error(error))\n        return",
        "tags = frozenset()",
        "tags that could not be read count as none",
    ),
    _create(
        "_namesake",
        "elif node.naming is Naming.EXPLICIT:",
        "elif True:",
        "a stranger's resource of a default name is used",
    ),
    _create(
        "select",
        "ctx.block(node.key, of_error(candidates))",
        "create.append(node)",
        "a list that failed counts as an empty one, and a second resource is created",
    ),
    _create(
        "drop_stale_refs",
        "stale = bool(given) and given != entry.id",
        "stale = False",
        "the id that the spec gives is ignored while a resource of ours is recorded",
    ),
    _create(
        "_release_given",
        "if entry.phase.ours:",
        "if False:",
        "our resource is forgotten when the spec gives another",
    ),
)

SYNCING = (
    _parts(
        "claim",
        "if ctx.journal != before:",
        "if False:",
        "parts are recorded after they are added: later they look like those of others",
    ),
    _parts(
        "claimable",
        " and not part.retain",
        "",
        "a retained part is removed when nothing wants it any more",
    ),
    _parts(
        "diff_parts",
        "(have - wish) & ours",
        "have - wish",
        "parts that others added are removed",
    ),
    _drift(
        "_changes",
        "for a in sorted(mutable) if a in wanted",
        "for a in sorted(wanted)",
        "an immutable attribute is changed",
    ),
    _drift(
        "_is_due",
        "and entry.phase is Phase.OWNED",
        "",
        "an unproven resource is changed",
    ),
    _drift(
        "_drift",
        "if is_ != says",
        "if False",
        "a difference that cannot be corrected is not reported",
    ),
    _order(
        "next_delete_wave",
        "free = frozenset(keys) - needed(keys, entries, registry)",
        "free = frozenset(keys)",
        "a network is deleted before what is in it",
    ),
    _order(
        "next_delete_wave",
        "return free or frozenset(keys) - needed(keys, {}, registry)",
        "return free",
        "a forged cycle in the journal holds the delete for ever",
    ),
    _order(
        "requirements",
        "if entry is not None and entry.requires is not None:",
        "if True:",
        "resources recovered from marks are deleted in any order",
    ),
    _read_marks(
        "from_index",
        "ctx.state.marks_read_at = ctx.now  # not before it answered: creates rest on it",
        "pass",
        "marks are never known to be read, and nothing is created after a restart",
    ),
    _delete(
        "next_wave",
        "free = next_delete_wave(ours - unproven - stays.keys(), ctx",
        "free = next_delete_wave(ours - unproven - stays.keys() - unknown, ctx",
        "what a resource of an unknown kind depends on is deleted before it",
    ),
    _delete(
        "_foreign_children",
        "if (left := ctx.unsettled()) > 0:",
        "if (left := _unsettled(ctx)) > 1e9:",
        "a container is deleted while a forgotten create may still take effect in it",
    ),
    _engine(
        "_ends_at_rest",
        "except CloudError:  # only",
        "except ZeroDivisionError:  # only",
        "an index that does not answer makes every object at rest not ready",
    ),
    _order(
        "with_edges",
        "| set(entry.requires or ())",
        "",
        "a resource is deleted while another, which the spec no longer connects with it, still depends on it",
    ),
    _order(
        "add_edges",
        "replace(entry, requires=()) if key in as_wanted else entry",
        "replace(entry, requires=())",
        "what may still be in use by a resource that is not as wanted is deleted",
    ),
    _drift(
        "_without_haste",
        "if outcome.reason is Reason.IN_USE:",
        "if False:",
        "a part that is in use is asked for each ten seconds, for as long as somebody uses it",
    ),
    _engine(
        "ensure",
        "ctx.journal = add_edges(ctx.journal, graph, ctx.as_wanted)",
        "pass",
        "edges that an edit added are not recorded",
    ),
    _graph(
        "Graph.wave",
        "if self.nodes[key].requires <= set(ready)",
        "if True",
        "a node is created before what it requires",
    ),
    _graph(
        "Graph.__init__",
        "if missing:",
        "if False:",
        "a node waits for ever for a requirement that is not in the graph",
    ),
    _inventory(
        "Inventory.shared",
        "self._clock.monotonic() - known.taken <= max_age",
        "True",
        "the shared index is read once and never again",
    ),
    _inventory(
        "Inventory.shared",
        "tagger.everything()), taken)",
        "tagger.everything()), self._clock.monotonic())",
        "the age of a long read counts from its end",
    ),
    _kinds(
        "Registry.__init__",
        "if other not in self._kinds:",
        "if False:",
        "a kind that requires an unregistered one leads to a KeyError in a pass",
    ),
    _outcomes(
        "of_error",
        "case errors.Retryable() | errors.Unknown():",
        "case errors.Retryable():",
        "a write with an unknown effect needs a person",
    ),
    _outcomes(
        "of_error",
        "error.retry_after or 10.0",
        "10.0",
        "the wait that the cloud asks for is ignored",
    ),
    _port(
        "ReadOnlyPort.send",
        "if call.effect is Effect.WRITE:",
        "if False:",
        "a read-only port sends writes to the cloud",
    ),
    _port(
        "FencedPort.send",
        "if self._clock.monotonic() > self._allowed_until:",
        "if False:",
        "a process that lost its object creates what its successor has created",
    ),
    _port(
        "FencedPort.send",
        "call = replace(call, not_after=self._allowed_until)",
        "pass",
        "a create that waits in a queue is sent after its fence",
    ),
    _port(
        "FencedPort.send",
        "sent = self._clock.monotonic()\n            reply = await self._inner.send(call)",
        "reply = await self._inner.send(call)\n            sent = self._clock.monotonic()",
        "the fence begins when the reply comes, not when the write was sent",
    ),
)

PROOF = (
    _keys(
        "KeyRing.missing",
        "if (d, uuid) not in self.accepted and not self.readable(d, uuid)",
        "if False",
        "an object whose key is missing is served although nothing of it can be proved",
    ),
    _keys(
        "KeyRing.of",
        "if uuid == owner.uuid",
        "",
        "the exported key of one object signs for all",
    ),
    _keys(
        "KeyRing.missing",
        "(d, uuid) not in self.accepted",
        "d not in {digest for digest, _ in self.accepted}",
        "the accepted loss of a key applies to later objects",
    ),
    _keys(
        "KeyRing.forgives",
        "record in self.accepted.get((digest, uuid), frozenset())",
        "(digest, uuid) in self.accepted",
        "a record that was left out, or is written after the loss was accepted, counts together with copied marks",
    ),
    _keys(
        "ObjectKeys._mac",
        "owner.uuid, owner.kind, owner.namespace, owner.name, *within, *parts",
        "owner.uuid, *within, *parts",
        "an identity that is copied into the annotation of another object is accepted there",
    ),
    _keys(
        "ObjectKeys.recognises",
        "return any(is_same(self._check(digest, kind, slot), check) for digest in self.derived)",
        "return True",
        "any text of the right length counts as a nonce of ours",
    ),
    _keys(
        "ObjectKeys.seal",
        "str(key).casefold(), target.casefold())",
        "str(key).casefold())",
        "a mark that is copied from our resource to another proves that one, too",
    ),
    _keys(
        "ObjectKeys.carried_seal",
        "kind, ident.casefold(), carrier.casefold())",
        "kind, carrier.casefold())",
        "a carrier's mark proves any id that is written into it",
    ),
    _keys(
        "derive",
        'b"freehold object key\\0" + uuid.encode()',
        'b"freehold object key\\0"',
        "the derived key is the same for all objects",
    ),
    _ownership(
        "proves",
        "if rivals := _rivals(marks, ours):",
        'if rivals := "":',
        "a resource that two owners claim is deleted by one of them",
    ),
    _ownership(
        "proves",
        "if both and sealed:",
        "if both:",
        "copied marks of ours prove ownership",
    ),
    _ownership(
        "proves",
        "if both and recorded:",
        "if recorded:",
        "a record proves ownership without marks",
    ),
    _ownership(
        "proves_carried",
        "if recorded or vouched:",
        "if True:",
        "a carrier's mark that anybody can write proves ownership",
    ),
    _ownership(
        "_rivals",
        "(folded(marks.uuids) - folded(ours.uuids)) | ",
        "",
        "the uuid of another owner beside ours is ignored",
    ),
    _birth_marks(
        "SPARE_ATTEMPTS",
        "SPARE_ATTEMPTS = 3",
        "SPARE_ATTEMPTS = 0",
        "a resource of an attempt that a restore forgot counts as a stranger's",
    ),
    _birth_marks(
        "CLOCK_SKEW",
        "CLOCK_SKEW = 120.0",
        "CLOCK_SKEW = 0.0",
        "if the operator's clock is ahead, our own resources look older than their creates",
    ),
    _birth_marks(
        "nonces",
        "first = entry.attempt if entry else 1",
        "first = 1",
        "the nonce of a settled attempt still counts on a copy",
    ),
    _birth_marks(
        "not_from_intent",
        "observed.created_at < entry.opened - CLOCK_SKEW",
        "False",
        "a resource that is older than the create counts as its result",
    ),
    _birth_marks(
        "not_from_intent",
        "if entry.by and observed.created_by and observed.created_by != entry.by:",
        "if False:",
        "a resource that another identity created meanwhile counts as ours",
    ),
    _context(
        "PassContext.is_signed",
        "return self.keys.vouches(",
        "return True or self.keys.vouches(",
        "an id in the journal counts without a valid signature",
    ),
    _proofs(
        "is_accepted",
        "if not ctx.deps.ring.forgives(entry.key, ctx.owner.uuid, record):",
        "if False:",
        "marks and record prove without a key, although no person accepted its loss",
    ),
    _birth_marks(
        "without_resource",
        "return replace(vacant, attempt=entry.attempt) if forged else vacant",
        "return vacant",
        "a forged id that does not exist uses up our nonce",
    ),
    _recovery(
        "put_on_record",
        "free = born[0] if born else free_key(ctx, NodeKey(key.kind, words[0]) if words else key, observed.id)",
        "free = free_key(ctx, key, observed.id)",
        "after a restart a stranger's copy of the nonce of a recovered resource is deleted",
    ),
    _recovery(
        "_missed",
        "if ctx.now - since >= ctx.kind(item.key).settle:",
        "if True:",
        "a resource of ours that one read did not show is not told of any more",
    ),
    _recovery(
        "_take_off",
        "ctx.state.emptied.add(item.ref.target)",
        "pass",
        "an unmarked connection is orphaned in a gateway whose only mark of ours was detached",
    ),
    _final_check(
        "_refs",
        "(not entry.phase.ours or ctx.node(key).last_seen is None)",
        "not entry.phase.ours",
        "the inside of our resource is not searched if this process has not read the resource",
    ),
    _intents(
        "_is_sealed",
        "proven and (not candidate.carried or proofs.has_seal(ctx, key, candidate, tags))",
        "proven",
        "a copy with a carrier's mark that anybody can write counts as ours, and our own is forgotten",
    ),
    _detach(
        "_retire",
        "for id_ in entry.earlier if proofs.is_carried_by(ctx, key, id_, entry.target)",
        "for id_ in entry.earlier",
        "the editor of one object can cause the detach of another one's marks",
    ),
    _final_check(
        "_refs",
        "for entry in ctx.journal.entries.values() if entry.carried and entry.target",
        "for entry in ()",
        "after a restart a carrier whose only mark of ours was detached is not searched",
    ),
    _birth_marks(
        "_spent",
        "{key.logical} if last and ctx.keys.recognises(key.kind, key.logical) else set()",
        "set()",
        "a stranger's copy of the nonce by which ours was found is deleted",
    ),
    _birth_marks(
        "_AnyNonce.__contains__",
        "word not in self.spent and ",
        "",
        "a stranger's copy of a used nonce is recorded",
    ),
    _birth_marks(
        "_spent",
        "last = (entry.attempt if known else entry.attempt - 1) if entry else 0",
        "last = 0",
        "a stranger's copy of the nonce of a recorded resource is recorded, too",
    ),
    _birth_marks(
        "_spent",
        "known = bool(entry and entry.id and ctx.is_signed(key))",
        "known = bool(entry and entry.id)",
        "a forged id in the journal uses up our nonce",
    ),
    _wanted_tags(
        "lagging",
        "if attached is None or ctx.now - attached.at >= ctx.kind(key).settle:",
        "if attached is None:",
        "stripped marks count for ever as not visible yet",
    ),
    _context(
        "PassContext.remember",
        "if entry.phase is Phase.OWNED:",
        "if False:",
        "a resource with a new carrier counts as marked on it",
    ),
    _context(
        "PassContext._store",
        "state.invalidate()",
        "pass",
        "after a failed save a requeue time that was computed from the unsaved journal is kept",
        equivalent="a second lock: what waits is looked at within its interval anyhow, and only a pass that was saved "
        "leaves an object at rest. With each save of creates, deletes and heals refused, all times are the same",
    ),
    _context(
        "PassContext._store",
        "state.tried = journal",
        "pass",
        "our own write whose reply was lost counts as somebody else's",
    ),
    _context(
        "PassContext.save_before_write",
        " or self.now - self.stored_at > self.deps.intervals.fence / 2",
        "",
        "if nothing changed, a create is sent without a write that allows it",
    ),
    _journal(
        "loads",
        'if document["v"] != FORMAT:',
        "if False:",
        "a journal of a newer format is read as if it were of this one",
    ),
    _journal(
        "vacated",
        "attempt=entry.attempt + 1",
        "attempt=entry.attempt",
        "a second create has the nonce of the first one",
    ),
    _journal(
        "vacated",
        "(*entry.earlier, entry.id) if entry.carried and entry.id else entry.earlier",
        "entry.earlier",
        "the mark of a carried resource that is gone stays on its carrier",
        killed_by="tests/unit/engine/test_engine_journal.py"
        "::test_a_carried_id_is_kept_until_its_mark_is_off_the_carrier",
    ),
    _journal(
        "let_go",
        "entry.attempt + 1 if entry.phase.ours else",
        "entry.attempt if entry.phase.ours else",
        "the nonce of a released resource counts for the next one",
    ),
    _state(
        "ObjectState.dry_run_copy",
        "replace(copy.deepcopy(replace(self, confirmed=None, tried=None)), minted=True, planning=True)",
        "replace(self, minted=True, planning=True)",
        "a plan changes the state that passes keep",
    ),
    _state(
        "ObjectState.recognises",
        "journal in (self.confirmed, self.tried)",
        "True",
        "a restored older journal is recognised as our own",
    ),
    _state(
        "ObjectState.reset",
        "ObjectState(first_seen=now, made=self.made",
        "ObjectState(first_seen=self.first_seen, made=self.made",
        "after a restored journal no settle time is waited for, and its creates are made twice",
    ),
    _state(
        "ObjectState.reset",
        "made=self.made, ",
        "",
        "the reply of a create is forgotten when an older journal is restored",
    ),
    _state(
        "ObjectState.forget",
        "self.nodes.pop(key, None)",
        "pass",
        "the remembered state of a resource that is gone affects its successor",
    ),
)

PASSES = (
    _create(
        "create",
        "    await ctx.save()\n    if not wave:",
        "    if not wave:",
        "no intent is recorded before a create",
    ),
    _create(
        "create",
        "        _created(ctx, node.key, result)\n    await ctx.save()",
        "        _created(ctx, node.key, result)",
        "a created resource is not recorded before the next calls",
    ),
    _create(
        "_created",
        "elif isinstance(result, Unknown | TokenReused):",
        "elif False:",
        "a create whose effect is unknown counts as refused",
    ),
    _engine(
        "_journal_is_readable",
        "    if missing:",
        "    if False:",
        "an object whose key is missing is served",
    ),
    _engine(
        "_journal_is_readable",
        "state.reset(ctx.now)",
        "pass",
        "with a journal of unknown age no settle time is waited for",
    ),
    _engine(
        "ensure",
        "if _must_read_marks_first(ctx):",
        "if False:",
        "after the journal was lost, marks are not read before a create",
    ),
    _engine(
        "_ends_at_rest",
        "if read_marks.missing(ctx, key, observed, shown.get(entry.target, frozenset())):",
        "if False:",
        "an idle pass does not see that marks are missing in the index",
    ),
    _engine(
        "_ends_at_rest",
        "ctx.now >= state.deep_at or ",
        "",
        "states and parts are never read again",
    ),
    _prune(
        "prunable",
        "ctx.journal.entries[key].phase is Phase.OWNED and ",
        "",
        "a resource whose mark was never read back is pruned",
    ),
    _prune(
        "prunable",
        " and key not in needed",
        "",
        "a resource that is still needed is pruned",
    ),
    _prune(
        "prune",
        "proven = await delete.prove(ctx, present, marked)",
        "proven = present",
        "surplus is deleted without proof",
    ),
    _engine(
        "_delete_waves",
        "delete.request(ctx, proven & wave)",
        "delete.request(ctx, proven)",
        "a resource found by its mark is not deleted before its container",
    ),
    _mark(
        "attach",
        "await ctx.save_before_write()",
        "pass",
        "user tags are attached before they are recorded",
    ),
    _mark(
        "attach",
        "if not ctx.is_believed(key):",
        "if False:",
        "a forged id in the journal is marked as ours",
    ),
    _mark(
        "attach",
        "proofs.is_carried_by(ctx, key, observed.id, observed.target) and _carrier_fits(ctx, key, observed)",
        "True",
        "a carrier that is not ours is marked although the kind needs our own",
    ),
    _detach(
        "dropped",
        "ctx.journal.open or any(",
        "any(",
        "user tags are forgotten while a create with them may be under way",
    ),
    _detach(
        "dropped",
        "        and ctx.is_believed(key)\n",
        "",
        "user tags are detached from an unproven resource",
    ),
    _detach(
        "dropped",
        "        if wrong:\n            return",
        "        pass",
        "user tags are forgotten although their detach failed",
    ),
    _detach(
        "_retire",
        "if gone:",
        "if False:",
        "the mark of a carried resource that vanished stays on its carrier",
    ),
    _proofs(
        "carried_marks",
        "frozenset({plain}) | seals",
        "frozenset({plain}) or seals",
        "a sealed mark of a carried resource that is gone stays on its carrier",
    ),
    _detach(
        "_retire",
        "if failed is not None and not isinstance(failed, NotFound):",
        "if False:",
        "a mark that could not be detached from its carrier is forgotten",
    ),
    _read_marks(
        "verify",
        "return {}\n    looks",
        "marked = {}\n    looks",
        "marks that could not be read count as missing",
    ),
    _read_marks(
        "_judge_marks",
        "elif evidence.strength in (Strength.OTHERS, Strength.DISPUTED):",
        "elif False:",
        "another owner's resource is marked as ours again",
    ),
    _read_marks(
        "_judge_marks",
        "if not birth_marks.has_birth_mark(ctx, key, observed):",
        "if False:",
        "an unsigned record leads to a mark",
    ),
    _mark(
        "ready_only_if_marked",
        "if entry and entry.phase is Phase.RECORDED and isinstance(outcome, Ready):",
        "if False:",
        "a resource counts as ready before its mark was read back",
    ),
    _renewal(
        "renew",
        "if _new_mark(ctx, key) & ctx.deps.codec.fold(ctx.verified[key]):",
        "if True:",
        "a record names the new key before its seal is attached",
    ),
    _renewal(
        "_take_off_old",
        "entry.key == ctx.keys.writing and ",
        "",
        "the old seal is detached before the new one is recorded",
    ),
    _renewal(
        "_is_seal_of",
        "str(mark.key).casefold() == str(key).casefold()\n        and ",
        "",
        "the seal of another node is detached",
    ),
    _renewal(
        "_renew_identity",
        "if long_seen and all(entry.key == writing for entry in ctx.journal.ours.values()):",
        "if True:",
        "public marks stop counting before all of an object is renewed",
    ),
    _renewal(
        "renew",
        "elif len(begin) < PER_PASS:",
        "else:",
        "a rotation over a thousand objects sends too many tag calls at once",
    ),
)

LEAVING = (
    _delete(
        "prove",
        "        if evidence.strength is Strength.PROVEN:",
        "        if True:",
        "a recorded resource is deleted without proof",
    ),
    _delete(
        "prove",
        "if not ctx.kind(key).markable and ctx.is_signed(key)}",
        "if not ctx.kind(key).markable}",
        "a resource of an unmarkable kind is deleted because of an unsigned record",
    ),
    _delete(
        "prove",
        "            ctx.requeue(key, _waiting(tags))\n            continue\n        evidence",
        "            tags = frozenset()\n        evidence",
        "marks that could not be read count as none",
    ),
    _delete(
        "prove",
        "elif evidence.strength is Strength.DISPUTED:",
        "elif False:",
        "a resource that two owners claim is not reported as disputed",
    ),
    _delete(
        "prove",
        "elif evidence.strength is not Strength.HEALABLE and birth_marks.has_birth_mark(ctx, key, observed):",
        "elif False:",
        "after a change of key between record and mark our own resource is kept, and the delete never ends",
    ),
    _delete(
        "_absent",
        "if ctx.node(key).delete_sent is None and not ctx.settled(key, since):",
        "if False:",
        "one read that shows nothing counts as gone, and the resource is orphaned",
    ),
    _delete(
        "_conclude_gone",
        "if entry.carried and not carrier_ours and proofs.is_carried_by(ctx, key, entry.id, entry.target):",
        "if False:",
        "a carried mark of ours stays on somebody else's carrier",
    ),
    _delete(
        "_conclude_gone",
        "if error is not None and not isinstance(error, NotFound):",
        "if False:",
        "a mark that could not be detached from its carrier is forgotten",
    ),
    _delete(
        "_heal",
        "ctx.node(key).attached = None",
        "pass",
        "stripped marks are not attached again",
    ),
    _delete(
        "_foreign_children",
        "if not kind.contains or kind.container is None:",
        "if True:",
        "the contents of a container are not read before it is deleted",
    ),
    _delete(
        "_foreign_children",
        "if foreign:",
        "if False:",
        "a stranger's resource is deleted with its container",
    ),
    _delete(
        "request",
        "    await ctx.save()\n    in_use",
        "    in_use",
        "a delete is sent before it is recorded",
    ),
    _delete(
        "observe_present",
        "ctx.requeue(key, _waiting(seen))",
        "await _absent(ctx, key)",
        "a failed read counts as gone",
    ),
    _delete(
        "finished",
        "if left > 0:",
        "if False:",
        "the finalizer does not wait for creates in flight",
    ),
    _delete(
        "finished",
        "await final_check.by_nonce(ctx, marked)",
        "pass",
        "native lists are not read at the end",
    ),
    _delete(
        "finished",
        "await recovery.by_marks(ctx, marked, last=True)",
        "await recovery.by_marks(ctx, marked)",
        "the final check does not read again what seemed gone before",
    ),
    _delete(
        "finished",
        'ctx.outcomes[NodeKey("finalizer", "index")] = of_error(error)\n        return False',
        "marked = {}",
        "an index that could not be read counts as empty, and the finalizer is removed",
    ),
    _delete(
        "finished",
        "isinstance(o, Blocked | Waiting) for o in",
        "False for o in",
        "a resource that could not be read is released",
    ),
    _context(
        "PassContext.unsettled",
        "since = max(since, self.state.first_seen)",
        "pass",
        "creates of an earlier process are not waited for at the end",
    ),
    _recovery(
        "by_marks",
        "found = [*_nodes(ctx, tags_by_target), *_carried(ctx, tags_by_target)]",
        "found: list[_Stray] = []",
        "marks of ours in the index are not followed",
    ),
    _recovery(
        "by_marks",
        "ctx.outcomes[group[0].key] = of_error(error)",
        "pass",
        "a stray that could not be read counts as gone",
    ),
    _recovery(
        "by_marks",
        "await _take_off(ctx, item)",
        "pass",
        "an attach that took effect after its detach leaves our mark on a stranger's gateway",
    ),
    _recovery(
        "_assess",
        "if not item.carried or proofs.has_seal(ctx, item.key, seen, tags):",
        "if True:",
        "a stranger's connection is recorded because of a carrier's mark that a stranger wrote",
    ),
    _recovery(
        "_node",
        "ours = strength is Strength.PROVEN or (strength is Strength.DISPUTED and _sealed(ctx, key, stub, tags))",
        "ours = True",
        "a stranger's resource is recorded because of copied marks",
    ),
    _final_check(
        "by_nonce",
        "ctx.possible_kinds() if ctx.state.minted else list(ctx.deps.registry)",
        "ctx.possible_kinds()",
        "a backup from before an edit is restored, and what the edit added is lost without a word",
    ),
    Mutant(
        "engine/proofs.py",
        "how_to_remove_birth_mark",
        '{"id": observed.id, **observed.attributes}',
        '{**observed.attributes, "id": "ID"}',
        "the command that removes a copied birth mark is for no resource",
    ),
    _final_check(
        "by_nonce",
        '            _failed(ctx, NodeKey(kind, "last look"), found)',
        "            pass",
        "a failed list at the end counts as an empty one",
    ),
    _final_check(
        "_existing",
        "            answered = False",
        "            pass",
        "a carrier that could not be read at the end counts as empty",
    ),
    _final_check(
        "_existing",
        "            _failed(ctx, key, seen)",
        "            pass",
        "a carrier that could not be read at the end is not reported, and the finalizer is removed",
    ),
    _context(
        "PassContext.possible_kinds",
        "if not self.graph.nodes or not entries:",
        "if False:",
        "with an invalid spec and a lost journal nothing is searched",
    ),
    _final_check(
        "_refs",
        "(not entry.phase.ours or ctx.node(key).last_seen is None)",
        "entry.phase.ours and ctx.node(key).last_seen is None",
        "given resources are not searched for something of ours",
    ),
    _final_check(
        "_refs",
        "{target for target, tags in marked.items() if ctx.deps.codec.read(tags).carried} | ctx.state.emptied",
        "set(ctx.state.emptied)",
        "a carrier that is known only by a mark is not searched",
    ),
    _final_check(
        "_refs",
        "if node.given and not node.requires and key not in refs:",
        "if False:",
        "given resources are not searched when the journal was lost",
    ),
    _final_check(
        "_sort",
        "if len(same) > 1:",
        "if False:",
        "of two resources with one nonce the first is deleted",
    ),
    _final_check(
        "_sort",
        "observed.state is State.DELETING or ",
        "",
        "a resource that is being deleted is recorded again",
    ),
)

LOOKS = (
    _engine(
        "ensure",
        "if _may_be_wanted_by_another_name(ctx, journal):",
        "if False:",
        "the pass that finds a resource of ours creates a second one of what the spec means by another name",
    ),
    _parts(
        "are_looked_at",
        " or (node.given and kind.exclusive_parts)",
        "",
        "the rules of our own security group are removed when the spec gives it by its id",
    ),
    _parts(
        "diff",
        "replace(found, surplus=frozenset()) if ctx.graph.nodes[key].given else found",
        "found",
        "what is inside our own resource is taken out when the spec gives it by its id",
    ),
    _parts(
        "claimable",
        "ours.union(kept if node.given else ())",
        "ours",
        "parts of our own resource are removed when the spec gives it by its id",
    ),
    _engine(
        "_is_planned_look",
        "if ctx.now < state.deep_at or state.own_look_due or state.releasing:",
        "if ctx.now < state.deep_at or state.releasing:",
        "an edited spec is settled by lists from before the edit",
    ),
    _engine(
        "_is_planned_look",
        "return bool(state.at_rest) or state.looked_at == -inf",
        "return True",
        "what is not at rest is settled by lists",
    ),
    _state(
        "ObjectState.reset",
        ", own_look_due=True)",
        ")",
        "after a restore lists that were read before it confirm what is on record",
    ),
    _confirm(
        "by_lists",
        "ctx.ready_nodes.clear()",
        "pass",
        "a pass goes on with what a list showed",
    ),
    _confirm(
        "_is_settled",
        "journal.tags != ctx.user_tags or ",
        "",
        "a tag that the spec asks for no more is never taken off",
    ),
    _confirm(
        "_is_settled",
        "add_edges(journal, graph) != journal",
        "False",
        "an edge that the spec has added is not recorded: what is needed may be deleted first",
    ),
    _confirm(
        "_is_settled",
        "if any(is_unfinished(ctx, key, entry) for key, entry in journal.entries.items()):",
        "if False:",
        "a mark that was attached a moment ago counts as read back because the index of all objects shows it",
    ),
    _confirm(
        "_is_settled",
        "entry.key != ctx.keys.writing or not ctx.is_believed(key)",
        "entry.key != ctx.keys.writing",
        "a record that somebody edited is confirmed",
    ),
    _confirm(
        "_is_settled",
        "entry.key != ctx.keys.writing or not ctx.is_believed(key)",
        "not ctx.is_believed(key)",
        "seals of an older key are never renewed",
    ),
    _confirm(
        "_is_settled",
        "if not journal.ours.keys() <= graph.nodes.keys():",
        "if False:",
        "surplus is never looked at again",
    ),
    _confirm(
        "_shown",
        "return rows if len(rows) == len(found) else None",
        "return rows",
        "a resource that is gone from every list stays Ready",
    ),
    _confirm(
        "_fit",
        "seen.state is not State.READY or ",
        "",
        "a list that shows a resource being deleted confirms it",
    ),
    _confirm(
        "_is_unchanged",
        "return same and all(known.attributes.get(name) == value for name, value in row.attributes.items())",
        "return True",
        "what changed is confirmed",
    ),
    _confirm(
        "_fit",
        "if not entry.phase.ours and ctx.graph.nodes[key].unfit(seen):",
        "if False:",
        "a given resource that does not fit is confirmed after a restart",
    ),
    _confirm(
        "_marks_are_complete",
        "not read_marks.is_complete(ctx, key, seen, tags)",
        "False",
        "stripped marks are never seen",
    ),
    _confirm(
        "_marks_are_complete",
        "if not ctx.deps.codec.fold(old).isdisjoint(ctx.deps.codec.fold(tags)):",
        "if False:",
        "a seal of an older key that could not be detached stays for ever",
    ),
    _confirm(
        "_marks_are_complete",
        "not recovery.is_anything_unrecorded(ctx, marked) and ",
        "",
        "what is ours and was forgotten by a restore is not found while the object is at rest",
    ),
    _confirm(
        "_oldest",
        "return min(ctx.deps.intervals.shared, ctx.now - ctx.state.looked_at)",
        "return ctx.deps.intervals.shared",
        "a list from before our own change confirms the state before it",
    ),
    _confirm(
        "_is_confirmed",
        "if not all(drift.is_as_wanted(ctx, key, rows[key].observed, inside[key])",
        "if False and not all(drift.is_as_wanted(ctx, key, rows[key].observed, inside[key])",
        "drift that happened while the operator was down is never mended",
    ),
    _drift(
        "is_as_wanted",
        "return not differs.missing and ",
        "return ",
        "a missing rule is confirmed",
    ),
    _lists(
        "SharedLists._rows",
        "if now - shared.taken <= max_age:",
        "if shared.rows:",
        "a list is never read again: drift is never seen",
    ),
    _lists(
        "SharedLists._read",
        "except CloudError:",
        "except ImportError:",
        "a list that may not be read keeps an object from being looked at",
    ),
    _lists(
        "_List.sharers",
        "at >= now - WINDOW",
        "True",
        "one object reads lists of thousands, because others did once",
    ),
    _durations(
        "estimate",
        "newest_first = [*reversed(samples), *([prior] if len(samples) < FEW else ())]",
        "newest_first = [*reversed(samples)]",
        "the first sample is believed, however absurd",
    ),
    _durations(
        "Durations.estimate",
        "if seen[0] >= since",
        "",
        "a duration is believed for ever",
    ),
    _polling(
        "started",
        "if known is None or known.verb is not verb:",
        "if True:",
        "a delete that is sent once more seems to take no time",
    ),
    _polling(
        "finished",
        "if begun is None or begun.verb is not verb:",
        "if begun is None:",
        "how long a create took counts for the delete",
    ),
    _lists(
        "SharedLists._read",
        "except (KeyError, TypeError, ValueError) as defect:",
        "except ImportError as defect:",
        "one odd row of a stranger keeps every object from being looked at",
    ),
    _schedule(
        "next_look",
        "return NextLook(min(max(at - task.spent, 0.0), longest), late)",
        "return NextLook(max(at - task.spent, 0.0), late)",
        "a duration of hours keeps a resource from being looked at for hours",
    ),
    _schedule(
        "pace_of",
        "low = max(low, task.looked / task.estimate.published)",
        "pass",
        "a slow cloud is asked as often as a fast one until the first create has ended",
    ),
    _schedule(
        "pace_of",
        "return Span(low, high) if low < high else ANY_PACE",
        "return Span(low, high)",
        "what was seen disagrees, and all looks are planned by a pace that is none",
    ),
    _schedule(
        "Task.likely",
        "return Span(max(low, pace.low * published), min(high, pace.high * published))",
        "return self.estimate.span",
        "the first create of a kind is looked for as if nothing was known of the cloud",
    ),
    _polling(
        "plan_again",
        "ctx.requeue(key, replace(outcome, after=_planned(ctx, key, verb, tasks, pace)))",
        "pass",
        "what ends early moves no look: the first create is late by what was believed before",
    ),
    _polling(
        "is_overdue",
        "return _spent(ctx, key) > SLOWEST * ctx.kind(key).create_time",
        "return True",
        "a deep pass falls into each long create",
    ),
    _engine(
        "_is_under_way",
        "return waits and not polling.is_overdue(ctx, key)",
        "return waits",
        "a create that never ends keeps the rest of the object from being looked at for ever",
    ),
)

MUTANTS = (*DECISIONS, *GIVEN_TAGS, *INTENTS, *CANDIDATES, *SYNCING, *PROOF, *PASSES, *LEAVING, *LOOKS)
