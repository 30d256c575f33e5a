"""Safety lines of the engine: keys, proof, journal, creating, marking, deleting, the last look."""

from functools import partial

from mutants.rows import Mutant

_intents = partial(Mutant, "lifecycle/phases/intents.py")
_observe = partial(Mutant, "lifecycle/phases/observe.py")
_create = partial(Mutant, "lifecycle/phases/create.py")
_drift = partial(Mutant, "lifecycle/phases/drift.py")
_graph = partial(Mutant, "lifecycle/graph.py")
_order = partial(Mutant, "lifecycle/deletion_order.py")
_inventory = partial(Mutant, "lifecycle/inventory.py")
_kinds = partial(Mutant, "lifecycle/kinds.py")
_outcomes = partial(Mutant, "lifecycle/outcomes.py")
_port = partial(Mutant, "lifecycle/port.py")
_keys = partial(Mutant, "lifecycle/keys.py")
_ownership = partial(Mutant, "lifecycle/ownership.py")
_journal = partial(Mutant, "lifecycle/journal.py")
_state = partial(Mutant, "lifecycle/state.py")
_context = partial(Mutant, "lifecycle/context.py")
_engine = partial(Mutant, "lifecycle/engine.py")
_prune = partial(Mutant, "lifecycle/phases/prune.py")
_mark = partial(Mutant, "lifecycle/phases/mark.py")
_delete = partial(Mutant, "lifecycle/phases/delete.py")
_recovery = partial(Mutant, "lifecycle/phases/recovery.py")
_final_check = partial(Mutant, "lifecycle/phases/final_check.py")
_renewal = partial(Mutant, "lifecycle/phases/renewal.py")

INTENTS = (
    _intents(
        "_no_effect",
        "if not ctx.settled(key, since):",
        "if False:",
        "a create that is not seen yet is given up at once, and sent again",
    ),
    _intents(
        "_resolve",
        "if len(ours) == 1:",
        "if ours:",
        "of two resources with one birth mark the first is taken for ours",
    ),
    _intents(
        "_resolve",
        "await _replay(ctx, key, entry, candidates)",
        "_no_effect(ctx, key, entry)",
        "a create with a client token is given up without asking under the same token",
    ),
    _intents(
        "_resolve",
        "elif entry.key and entry.key not in ctx.keys.readable:",
        "elif False:",
        "a create whose nonce cannot be computed any more counts as one that had no effect",
    ),
    _intents(
        "_resolve",
        "elif not ctx.kind(key).tells_apart and candidates:",
        "elif False:",
        "a namesake of a create that was cut off counts as a stranger's",
    ),
    _intents(
        "_replay",
        "except NeedsPerson as error:",
        "except NeedsPerson:\n        _no_effect(ctx, key, entry)\n    except ZeroDivisionError as error:",
        "a replay that is denied counts as a create that had no effect",
    ),
    _intents(
        "_replay",
        "driver.create(entry.request or {}, birth)",
        "driver.create(ctx.graph.nodes[key].request(ctx.ready_nodes) if key in ctx.graph.nodes else {}, birth)",
        "a create is replayed with today's spec",
    ),
    _intents(
        "_replay",
        "if not (young := _young(entry, candidates)):",
        "if not (young := []):",
        "a replay that finds the name taken counts as a create that had no effect, although its own took it",
    ),
    _intents(
        "_replay",
        "await ctx.confirm()",
        "pass",
        "a replay is sent by a process that has lost its object",
    ),
    _intents(
        "_expired",
        "return ctx.deps.clock.now() - entry.opened > ctx.kind(key).token_life - CLOCK_SKEW",
        "return False",
        "an expired token makes a second resource",
    ),
    _intents(
        "resolve_open",
        "ctx.outcomes[key] = of_error(outcome)",
        "await _resolve(ctx, key, open_now[key], (), {})",
        "a list that failed counts as an empty one",
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
        "what a create answered is forgotten when it could not be put on record",
    ),
    _observe(
        "_absent",
        "elif not ctx.settled(key, since):",
        "elif False:",
        "one read that shows nothing is believed, and the resource is created again",
    ),
    _observe(
        "find",
        "result if isinstance(result, CloudError) else",
        "() if isinstance(result, CloudError) else",
        "a list that failed counts as an empty one",
    ),
    _observe(
        "by_key",
        "found[key] = result if isinstance(result, CloudError) else result.get(ctx.journal.entries[key].id)",
        "found[key] = None if isinstance(result, CloudError) else result.get(ctx.journal.entries[key].id)",
        "a read that failed counts as nothing there",
        nth=1,
    ),
    _observe(
        "by_key",
        "missing = [k for k, seen in found.items() if seen is None and len(by_kind[k.kind]) > 1]",
        "missing: list[NodeKey] = []",
        "what a list leaves out because the credentials may not see it counts as gone",
    ),
    _observe(
        "assess",
        "ctx.delete_is_fresh(key)",
        "False",
        "what we asked to delete a moment ago counts as ready again",
    ),
    _observe(
        "_only_here",
        "ctx.journal = ctx.journal.put(other, let_go(entry))",
        "pass",
        "one resource is on record twice, wanted and surplus",
    ),
    _observe(
        "record_owned",
        "signature=ctx.sign(key, observed.id)",
        'signature=""',
        "what is recorded bears no signature, and counts for nothing",
    ),
)

CANDIDATES = (
    _create(
        "_may_create",
        "if not ctx.state.minted and not ctx.settled(key, ctx.state.first_seen):",
        "if False:",
        "a restarted process creates at once, although a create of the earlier one may be under way",
    ),
    _create(
        "_may_create",
        "if not any((e := ctx.journal.get(k)) and e.phase.ours for k in carriers):",
        "if False:",
        "a bucket is created on a carrier that is not ours to mark it on",
    ),
    _create(
        "_may_create",
        "if entry and entry.fails >= kind.attempts:",
        "if False:",
        "something is created again and again that somebody deletes each time",
    ),
    _create(
        "_name_available",
        "if candidates and not named:",
        "if False:",
        "a namesake that is still being deleted is not waited for",
    ),
    _create(
        "_name_available",
        "if len(named) > 1:",
        "if False:",
        "of several namesakes one is used",
    ),
    _create(
        "_name_available",
        "        ctx.block(key, of_error(error))\n        return False\n    if len(ours) == 1:",
        "        ours = ()\n    if len(ours) == 1:",
        "marks that could not be read count as none",
    ),
    _create(
        "_claimed",
        "if len(ours) == 1 or len(candidates) < 2 or not unread:",
        "if True:",
        "of several namesakes nobody asks which bears our mark",
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
        "the id that the spec gives is ignored for what we created before",
    ),
    _create(
        "_release_given",
        "if entry.phase.ours:",
        "if False:",
        "what is ours is forgotten when the spec gives another",
    ),
)

SYNCING = (
    _drift(
        "to_spec",
        "    if claims:\n        await ctx.save()",
        "    if False:\n        await ctx.save()",
        "parts are claimed after they are added: later nobody tells them from others'",
    ),
    _drift(
        "claimed_parts",
        " and not part.retain",
        "",
        "a part that stays is removed when nothing wants it any more",
    ),
    _drift(
        "_sync_parts",
        "part.kind in kind.exclusive_parts or str(part) in entry.parts",
        "True",
        "parts that others put there are removed",
    ),
    _drift(
        "_sync",
        "for a in sorted(kind.mutable) if a in wanted",
        "for a in sorted(wanted)",
        "what cannot be changed in place is changed",
    ),
    _drift(
        "to_spec",
        "and entry.phase is Phase.OWNED",
        "",
        "what is not proven to be ours is changed",
    ),
    _drift(
        "_drift",
        "if is_ != says",
        "if False",
        "a difference that cannot be mended is not told",
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
        "a cycle that somebody wrote into the journal holds the delete for ever",
    ),
    _order(
        "_requirements",
        "if entry is not None and entry.requires is not None:",
        "if True:",
        "what was recovered from marks is deleted in no order",
    ),
    _mark(
        "read",
        "ctx.state.marks_read_at = ctx.now  # not before it answered: creates rest on it",
        "pass",
        "marks are never known to be read, and nothing is created after a restart",
    ),
    _delete(
        "next_wave",
        "free = next_delete_wave(ours - unproven, ctx",
        "free = next_delete_wave(ours - unproven - unknown, ctx",
        "what a resource of an unknown kind depends on is deleted before it",
    ),
    _delete(
        "_foreign_children",
        "if (left := _unsettled(ctx)) > 0:",
        "if (left := _unsettled(ctx)) > 1e9:",
        "a container is deleted while a forgotten create may still take effect in it",
    ),
    _order(
        "with_edges",
        "| set(entry.requires or ())",
        "",
        "what the spec no longer connects is deleted while the other still depends on it",
    ),
    _engine(
        "ensure",
        "ctx.journal = add_edges(ctx.journal, graph)",
        "pass",
        "the edges that an edit added are not known",
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
        "a node waits for ever for what nothing wants",
    ),
    _inventory(
        "Inventory.shared",
        "self._clock.monotonic() - self._shared.taken > max_age",
        "False",
        "the shared index is read once and never again",
    ),
    _inventory(
        "Inventory.shared",
        "self._shared = Snapshot(await self._tagger.everything(), taken)",
        "self._shared = Snapshot(await self._tagger.everything(), self._clock.monotonic())",
        "a reading that took long counts as fresh from its end",
    ),
    _kinds(
        "Registry.__init__",
        "if other not in self._kinds:",
        "if False:",
        "a kind that requires one which is not registered is told by a KeyError in a pass",
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
        "the wait that the cloud asks for is not kept",
    ),
    _port(
        "ReadOnlyPort.send",
        "if call.effect is Effect.WRITE:",
        "if False:",
        "what only reads writes to the cloud",
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
        "an object whose key is missing is served, and nothing of it can be proved",
    ),
    _keys(
        "KeyRing.of",
        "if uuid == owner.uuid",
        "",
        "a key that was handed on for one object signs for all",
    ),
    _keys(
        "KeyRing.of",
        "unkeyed and owner.uuid in self.unkeyed",
        "unkeyed",
        "public marks from before the ring count after a person ended them",
    ),
    _keys(
        "KeyRing.of",
        "unkeyed and owner.uuid in self.unkeyed",
        "unkeyed and bool(self.unkeyed)",
        "a new object with a journal without key gets the public rules",
    ),
    _keys(
        "KeyRing.missing",
        "(d, uuid) not in self.accepted",
        "d not in {digest for digest, _ in self.accepted}",
        "the loss of a key is accepted for objects that came later",
    ),
    _keys(
        "KeyRing.forgives",
        "fingerprint(uuid, node, ident) in self.accepted.get((digest, uuid), frozenset())",
        "(digest, uuid) in self.accepted",
        "a record that was written after the loss was accepted counts with marks that anybody may copy",
    ),
    _keys(
        "ObjectKeys._mac",
        "owner.uuid, owner.kind, owner.namespace, owner.name, *parts",
        "owner.uuid, *parts",
        "an identity that is copied into another object's annotation fits there",
    ),
    _keys(
        "ObjectKeys.recognises",
        "return any(hmac.compare_digest(self._check(digest, kind, slot), check) for digest in self.derived)",
        "return True",
        "any word of the right length counts as a nonce of ours",
    ),
    _keys(
        "ObjectKeys.seal",
        "str(key).casefold(), target.casefold())",
        "str(key).casefold())",
        "a mark that is copied from our resource to another fits there",
    ),
    _keys(
        "ObjectKeys.carried_seal",
        "kind, ident.casefold(), carrier.casefold())",
        "kind, carrier.casefold())",
        "a carrier's mark proves for whatever id is written into it",
    ),
    _keys(
        "derive",
        'b"freehold object key\\0" + uuid.encode()',
        'b"freehold object key\\0"',
        "the key of one object is that of all",
    ),
    _ownership(
        "proves",
        "if rivals := _rivals(codec, marks, ours):",
        'if rivals := "":',
        "what two owners claim is deleted by one of them",
    ),
    _ownership(
        "proves",
        "if both and sealed:",
        "if both:",
        "copied marks of ours prove",
    ),
    _ownership(
        "proves",
        "if both and recorded:",
        "if recorded:",
        "a record proves without marks",
    ),
    _ownership(
        "proves_carried",
        "if recorded or vouched:",
        "if True:",
        "a carrier's mark that anybody wrote proves",
    ),
    _ownership(
        "_rivals",
        "(codec.fold(marks.uuids) - codec.fold(ours.uuids)) | ",
        "",
        "another owner's uuid beside ours is not seen",
    ),
    _context(
        "SPARE_ATTEMPTS",
        "SPARE_ATTEMPTS = 3",
        "SPARE_ATTEMPTS = 0",
        "a resource of an attempt that a restore forgot is a stranger's",
    ),
    _context(
        "CLOCK_SKEW",
        "CLOCK_SKEW = 120.0",
        "CLOCK_SKEW = 0.0",
        "with an operator's clock that is ahead our own resources look older than their creates",
    ),
    _context(
        "PassContext.nonces",
        "first = entry.attempt if entry else 1",
        "first = 1",
        "a birth mark of an attempt that is settled still counts on a copy",
    ),
    _context(
        "PassContext.not_from_intent",
        "observed.created_at < entry.opened - CLOCK_SKEW",
        "False",
        "what is older than its create may have come of it",
    ),
    _context(
        "PassContext.not_from_intent",
        "if entry.by and observed.created_by and observed.created_by != entry.by:",
        "if False:",
        "what another identity made in the meantime counts as ours",
    ),
    _context(
        "PassContext.is_signed",
        "return hmac.compare_digest(entry.signature, self.keys.signature(entry.key, key.kind, entry.id))",
        "return True",
        "an id in the journal counts whoever wrote it",
    ),
    _context(
        "PassContext._accepted",
        "if not self.deps.ring.forgives(entry.key, self.owner.uuid, str(key), entry.id):",
        "if False:",
        "marks and record prove without a key, although no person accepted that",
    ),
    _context(
        "PassContext.without_resource",
        "return replace(vacant, attempt=entry.attempt) if forged else vacant",
        "return vacant",
        "a forged id that does not exist makes our own nonce a spent one",
    ),
    _recovery(
        "put_on_record",
        "free = born[0] if born else free_key(ctx, NodeKey(key.kind, words[0]) if words else key, observed.id)",
        "free = free_key(ctx, key, observed.id)",
        "after a restart a copy of the birth mark of what a mark recovered is deleted",
    ),
    _recovery(
        "_take_off",
        "ctx.state.emptied.add(item.ref.target)",
        "pass",
        "what nothing marks is orphaned in a gateway that our only mark was taken off",
    ),
    _final_check(
        "_refs",
        "(not entry.phase.ours or ctx.node(key).last_seen is None)",
        "not entry.phase.ours",
        "nobody looks inside what is ours and was not looked at since the process began",
    ),
    _intents(
        "_is_sealed",
        "proven and (not candidate.carried or ctx.has_seal(key, candidate, tags))",
        "proven",
        "a carrier's mark that anybody may write makes a copy ours, and our own is forgotten",
    ),
    _mark(
        "_detach_retired",
        "for id_ in entry.earlier if ctx.is_carried_by(key, id_, entry.target)",
        "for id_ in entry.earlier",
        "the editor of one object takes another one's marks off",
    ),
    _final_check(
        "_refs",
        "for entry in ctx.journal.entries.values() if entry.carried and entry.target",
        "for entry in ()",
        "after a restart nobody looks inside a carrier that our only mark was taken off",
    ),
    _context(
        "PassContext._spent",
        "{key.logical} if last and self.keys.recognises(key.kind, key.logical) else set()",
        "set()",
        "a copy of the birth mark that found ours again is deleted",
    ),
    _context(
        "_AnyNonce.__contains__",
        "word not in self.spent and ",
        "",
        "a nonce that is spent brings a stranger's copy on record",
    ),
    _context(
        "PassContext._spent",
        "last = (entry.attempt if known else entry.attempt - 1) if entry else 0",
        "last = 0",
        "the nonce of what is on record brings a copy on record too",
    ),
    _context(
        "PassContext._spent",
        "known = bool(entry and entry.id and self.is_signed(key))",
        "known = bool(entry and entry.id)",
        "an id that somebody wrote into the journal makes our own nonce a spent one",
    ),
    _context(
        "PassContext.lagging",
        "if attached is None or self.now - attached.at >= self.kind(key).settle:",
        "if attached is None:",
        "marks that were stripped count as not readable yet, for ever",
    ),
    _context(
        "PassContext.remember",
        "if entry.phase is Phase.OWNED:",
        "if False:",
        "what is carried by something else now counts as marked there",
    ),
    _context(
        "PassContext._store",
        "state.invalidate()",
        "pass",
        "after a save that failed an appointment stands that was made from what is not on record",
    ),
    _context(
        "PassContext._store",
        "state.tried = journal",
        "pass",
        "our own write whose reply was lost counts as somebody else's",
    ),
    _context(
        "PassContext.confirm",
        " or self.now - self.stored_at > self.deps.intervals.fence / 2",
        "",
        "where nothing changed a create is sent without a write that allows it",
    ),
    _journal(
        "loads",
        'if document["v"] not in _READ:',
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
        killed_by="tests/unit/lifecycle/test_lifecycle_journal.py"
        "::test_a_carried_id_is_kept_until_its_mark_is_off_the_carrier",
    ),
    _journal(
        "let_go",
        "entry.attempt + 1 if entry.phase.ours else",
        "entry.attempt if entry.phase.ours else",
        "the birth mark of what was let go counts for the next one",
    ),
    _state(
        "ObjectState.dry_run_copy",
        "replace(copy.deepcopy(replace(self, confirmed=None, tried=None)), minted=True)",
        "replace(self, minted=True)",
        "a plan shares the memory of the passes",
    ),
    _state(
        "ObjectState.recognises",
        "journal in (self.confirmed, self.tried)",
        "True",
        "a journal that was put back to an older version is taken for our own",
    ),
    _state(
        "ObjectState.reset",
        "ObjectState(first_seen=now, made=self.made",
        "ObjectState(first_seen=self.first_seen, made=self.made",
        "an older journal is not waited for, and creates of its time are made twice",
    ),
    _state(
        "ObjectState.reset",
        "made=self.made, ",
        "",
        "what a create answered is forgotten when the journal was put back",
    ),
    _state(
        "ObjectState.forget",
        "self.nodes.pop(key, None)",
        "pass",
        "what was remembered of what is gone affects what comes after it",
    ),
)

PASSES = (
    _create(
        "create",
        "    await ctx.save()\n    if not wave:",
        "    if not wave:",
        "no intent is on record before a create",
    ),
    _create(
        "create",
        "        _created(ctx, node.key, result)\n    await ctx.save()",
        "        _created(ctx, node.key, result)",
        "what was created is not on record before the next calls",
    ),
    _create(
        "_created",
        "elif isinstance(result, Unknown | TokenReused):",
        "elif False:",
        "a create whose effect is unknown counts as refused",
    ),
    _engine(
        "_may_start",
        "if ctx.outcomes:",
        "if False:",
        "an object whose key is missing is served",
    ),
    _engine(
        "_may_start",
        "state.reset(ctx.now)",
        "pass",
        "a journal of unknown age is not waited for",
    ),
    _engine(
        "ensure",
        "if _must_read_marks_first(ctx):",
        "if False:",
        "after the journal was lost marks are not read before something is created",
    ),
    _engine(
        "_is_idle",
        "if not deps.codec.fold(ctx.marks(key, observed) | ctx.user_tags) <= have:",
        "if False:",
        "an idle pass does not see that marks are missing in the index",
    ),
    _engine(
        "_is_idle",
        "if ctx.now >= state.deep_at or ",
        "if ",
        "states and parts are never looked at again",
    ),
    _prune(
        "prunable",
        "ctx.journal.entries[k].phase is Phase.OWNED or ctx.node(k).delete_sent is not None",
        "True",
        "what was never read back is pruned",
    ),
    _prune(
        "prunable",
        " and key not in needed",
        "",
        "what is still needed is pruned",
    ),
    _prune(
        "prune",
        "await delete.request(ctx, await delete.prove(ctx, present, marked))",
        "await delete.request(ctx, present)",
        "what is surplus is deleted without proof",
    ),
    _engine(
        "release",
        "proven & delete.next_wave(ctx)",
        "proven",
        "what marks have shown to be inside is not deleted first",
    ),
    _mark(
        "attach",
        "await ctx.confirm()",
        "pass",
        "user tags are attached before they are on record",
    ),
    _mark(
        "attach",
        "if not ctx.is_signed(key):",
        "if False:",
        "an id that somebody wrote into the journal is marked as ours",
    ),
    _mark(
        "attach",
        "            ctx.is_carried_by(key, observed.id, observed.target) and _carrier_fits(ctx, key, observed)\n",
        "            True\n",
        "a carrier that is not ours is marked where only our own will do",
    ),
    _mark(
        "detach_dropped",
        "if dropped and ctx.journal.open:",
        "if False:",
        "user tags are forgotten while a create that bears them may be under way",
    ),
    _mark(
        "detach_dropped",
        "        and ctx.is_signed(key)\n",
        "",
        "user tags are detached from what nothing attests to be ours",
    ),
    _mark(
        "detach_dropped",
        "        if wrong:\n            return",
        "        pass",
        "user tags are forgotten although their detach failed",
    ),
    _mark(
        "_detach_retired",
        "if gone:",
        "if False:",
        "the mark of a carried resource that vanished stays on its carrier",
    ),
    _context(
        "PassContext.carried_marks",
        "frozenset({plain}) | self.seals",
        "frozenset({plain}) or self.seals",
        "a sealed mark of a carried resource that is gone stays on its carrier",
    ),
    _mark(
        "_detach_retired",
        "if failed is not None and not isinstance(failed, NotFound):",
        "if False:",
        "a mark that could not be taken off its carrier is forgotten",
    ),
    _mark(
        "verify",
        "return {}\n    for key in due:\n        entry",
        "marked = {}\n    for key in due:\n        entry",
        "marks that could not be read count as missing",
    ),
    _mark(
        "_judge_marks",
        "elif evidence.strength in (Strength.OTHERS, Strength.DISPUTED):",
        "elif False:",
        "another owner's resource is marked as ours again",
    ),
    _mark(
        "_judge_marks",
        "if not ctx.has_birth_mark(key, observed):",
        "if False:",
        "a record that nobody signed is laundered into a mark",
    ),
    _mark(
        "gate_ready_on_mark",
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
        "the old seal is taken off before the new one is on record",
    ),
    _renewal(
        "_is_seal_of",
        "str(mark.key).casefold() == str(key).casefold()\n        and ",
        "",
        "the seal of another node is taken off",
    ),
    _renewal(
        "_renew_identity",
        "if long_seen and all(entry.key == writing for entry in ctx.journal.ours.values()):",
        "if True:",
        "public marks end before all of an object is renewed",
    ),
    _renewal(
        "renew",
        "elif len(begin) < PER_PASS:",
        "else:",
        "a rotation over a thousand objects is a storm of tag calls",
    ),
)

LEAVING = (
    _delete(
        "prove",
        "        if evidence.strength is Strength.PROVEN:",
        "        if True:",
        "what is recorded is deleted without proof",
    ),
    _delete(
        "prove",
        "if not ctx.kind(key).markable and ctx.is_signed(key):",
        "if not ctx.kind(key).markable:",
        "what nothing can mark is deleted by a record that nobody signed",
    ),
    _delete(
        "prove",
        "            ctx.requeue(key, _waiting(error))\n            continue\n        evidence",
        "            tags = frozenset()\n        evidence",
        "marks that could not be read count as none",
    ),
    _delete(
        "prove",
        "elif evidence.strength is Strength.DISPUTED:",
        "elif False:",
        "what two owners claim is not told as disputed",
    ),
    _delete(
        "prove",
        "elif evidence.strength is not Strength.HEALABLE and ctx.has_birth_mark(key, observed):",
        "elif False:",
        "after the key was changed between record and mark our own resource is kept, and the delete never ends",
    ),
    _delete(
        "_absent",
        "if ctx.node(key).delete_sent is None and not ctx.settled(key, since):",
        "if False:",
        "one read that shows nothing is believed, and the resource is orphaned",
    ),
    _delete(
        "_conclude_gone",
        "if entry.carried and not carrier_ours and ctx.is_carried_by(key, entry.id, entry.target):",
        "if False:",
        "a carried mark of ours stays on somebody else's carrier",
    ),
    _delete(
        "_conclude_gone",
        "if error is not None and not isinstance(error, NotFound):",
        "if False:",
        "a mark that could not be taken off its carrier is forgotten",
    ),
    _delete(
        "_heal",
        "ctx.node(key).attached = None",
        "pass",
        "marks that were stripped are not attached again",
    ),
    _delete(
        "_foreign_children",
        "if not kind.contains or kind.container is None:",
        "if True:",
        "nobody looks inside a container before it is deleted",
    ),
    _delete(
        "_foreign_children",
        "if foreign:",
        "if False:",
        "a stranger's thing goes with its container",
    ),
    _delete(
        "request",
        "    await ctx.save()\n    held",
        "    held",
        "a delete is sent before it is on record",
    ),
    _delete(
        "observe_present",
        "ctx.requeue(key, _waiting(seen))",
        "await _absent(ctx, key)",
        "a read that failed counts as nothing there",
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
        "native lists are not asked at the end",
    ),
    _delete(
        "finished",
        "await recovery.by_marks(ctx, marked, last=True)",
        "await recovery.by_marks(ctx, marked)",
        "the last look does not ask for what was seen gone before",
    ),
    _delete(
        "finished",
        'ctx.outcomes[NodeKey("finalizer", "index")] = of_error(error)\n        return False',
        "marked = {}",
        "an index that could not be read counts as empty, and the finalizer goes",
    ),
    _delete(
        "finished",
        "isinstance(o, Blocked | Waiting) for o in",
        "False for o in",
        "what could not be asked after is let go",
    ),
    _delete(
        "_unsettled",
        "since = max(since, ctx.state.first_seen)",
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
        "a stray that could not be asked for counts as gone",
    ),
    _recovery(
        "by_marks",
        "await _take_off(ctx, item)",
        "pass",
        "an attach that came after its detach leaves our mark on a stranger's gateway",
    ),
    _recovery(
        "_assess",
        "if not item.carried or ctx.has_seal(item.key, seen, tags):",
        "if True:",
        "a carrier's mark that a stranger wrote brings a stranger's connection on record",
    ),
    _recovery(
        "_node",
        "ours = strength is Strength.PROVEN or (strength is Strength.DISPUTED and _sealed(ctx, key, stub, tags))",
        "ours = True",
        "copied marks bring a stranger's resource on record",
    ),
    _final_check(
        "by_nonce",
        '            _failed(ctx, NodeKey(kind, "last look"), found)',
        "            pass",
        "a list that failed at the end counts as an empty one",
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
        "a carrier that could not be read at the end is not told, and the finalizer goes",
    ),
    _context(
        "PassContext.possible_kinds",
        "if not self.graph.nodes or not entries:",
        "if False:",
        "with a spec that is refused today and a lost journal nothing is looked for",
    ),
    _final_check(
        "_refs",
        "(not entry.phase.ours or ctx.node(key).last_seen is None)",
        "entry.phase.ours and ctx.node(key).last_seen is None",
        "nobody looks inside what was given for something of ours",
    ),
    _final_check(
        "_refs",
        "{target for target, tags in marked.items() if ctx.deps.codec.read(tags).carried} | ctx.state.emptied",
        "set(ctx.state.emptied)",
        "nobody looks inside a carrier that only a mark names",
    ),
    _final_check(
        "_refs",
        "if node.given and not node.requires and key not in refs:",
        "if False:",
        "nobody looks inside what the spec gives when the journal was lost",
    ),
    _final_check(
        "_sort",
        "if len(same) > 1:",
        "if False:",
        "of two resources with one birth mark the first is deleted",
    ),
    _final_check(
        "_sort",
        "observed.state is State.DELETING or ",
        "",
        "what is being deleted already comes on record anew",
    ),
)

MUTANTS = (*INTENTS, *CANDIDATES, *SYNCING, *PROOF, *PASSES, *LEAVING)
