"""Safety lines of the metadata controller: the record of what was written, what is read before it is changed."""

from functools import partial

from mutants.rows import Mutant

_stored = partial(Mutant, "tagging/stored_record.py")
_record = partial(Mutant, "operator/metadata/record.py")
_tagger = partial(Mutant, "providers/aws/tags/tagger.py")
_fleet = partial(Mutant, "reconcilers/metadata/fleet.py")
_granting = partial(Mutant, "reconcilers/metadata/granting.py")
_writer = partial(Mutant, "reconcilers/metadata/writer.py")
_pass = partial(Mutant, "operator/metadata/one_pass.py")
_work = partial(Mutant, "operator/metadata/work.py")
_telling = partial(Mutant, "operator/metadata/telling.py")
_speaking = partial(Mutant, "operator/metadata/speaking.py")
_removal = partial(Mutant, "operator/metadata/removal.py")
_accounts = partial(Mutant, "operator/metadata/accounts_aws.py")
_finds = partial(Mutant, "operator/metadata/shared_finds.py")
_clusters = partial(Mutant, "reconcilers/metadata/clusters.py")
_planning = partial(Mutant, "operator/metadata/planning.py")
_controller = partial(Mutant, "operator/metadata/controller.py")
_needs = partial(Mutant, "operator/metadata/key_needs.py")
_metadata = partial(Mutant, "operator/metadata/reconcile.py")
_wanted = partial(Mutant, "tagging/wanted_keys.py")
_writes = partial(Mutant, "operator/metadata/writes.py")
_plan = partial(Mutant, "tagging/plan.py")
_conflicts = partial(Mutant, "tagging/conflicts.py")
_trouble = partial(Mutant, "operator/metadata/trouble.py")
_failures = partial(Mutant, "tagging/failures.py")
_part = partial(Mutant, "tagging/part_done.py")
_status = partial(Mutant, "reconcilers/metadata/status.py")
_active = partial(Mutant, "reconcilers/metadata/active_list.py")

MUTANTS = (
    _fleet(
        "must_be_read",
        "return plan.record_after != record",
        "return False",
        "the record forgets a key on the word of an index that lags, and the tag stays for ever",
    ),
    _fleet(
        "must_be_read",
        "if cost is ReadCost.SHARED or isinstance(record, RecordLost):",
        "if isinstance(record, RecordLost):",
        "a pass within the lag of the index writes what it has just written",
    ),
    _fleet(
        "must_be_read",
        "return cost is ReadCost.OWN and not delta.written.isdisjoint(claim.minded)",
        "return False",
        "add overwrites a value that is younger than the index",
    ),
    _fleet(
        "must_be_read",
        "delta.removals or delta.replaces or",
        "delta.removals or",
        "a value is overwritten that nobody has read: the index may show one that is gone",
    ),
    _failures(
        "took_effect",
        "right = key not in there",
        "right = True",
        "a removal whose reply was lost counts as done, and the tag stays for ever",
    ),
    _failures(
        "took_effect",
        "right = spelled in there.get(key, ()) and (batch.verb is Verb.ATTACH or len(there[key]) == 1)",
        "right = True",
        "a tag whose write was lost counts as written, and the object says Ready",
    ),
    _writes(
        "_Way.refused",
        "max(self.in_a_row, before + 1)",
        "self.in_a_row + 1",
        "a bad resource in each of many calls in flight keeps all the others from being tagged",
    ),
    _writes(
        "_Sending._read",
        "self.ways[batch.verb, batch.account, batch.region].succeeded = True",
        "pass",
        "after lost replies one bad resource keeps the others in its call from being tagged",
    ),
    _writes(
        "_Sending._read",
        "{} if self.blind else await self.place.read(batch.targets)",
        "await self.place.read(batch.targets)",
        "where a service hangs each lost reply is followed by reads that hang, too",
    ),
    _writes(
        "_Sending._read",
        "self.done.doubtful.append(batch.only(left))",
        "pass",
        "a write that may have had its effect is on record no more, and its tag stays for ever",
    ),
    _part(
        "record_of_part",
        "before if key in perhaps else was",
        "was",
        "a write that may have had its effect is on record no more, and its tag stays for ever",
    ),
    _writes(
        "_Sending._read",
        "good = {ident for ident, now in read.items() if isinstance(now, Resource) and took_effect(batch, now)}",
        "good = set[str]()",
        "what a lost reply was about waits for the next pass, where it is read again",
    ),
    _conflicts(
        "Claim.minded",
        "not takes_over or ",
        "",
        "a foreign value that is younger than the index is overwritten though the policy is to leave it",
    ),
    _conflicts(
        "Claim.minded",
        "or want.opcode is Opcode.ADD",
        "",
        "add overwrites a value that is younger than the index",
    ),
    _fleet(
        "_TermsOf.on",
        "if not (met or clusters or contested):",
        "if not (met or contested):",
        "a key that a cluster asks for is written where no other object meets",
    ),
    _fleet(
        "_TermsOf.on",
        "if not (met or clusters or contested):",
        "if not (met or clusters):",
        "a key that somebody sets back each time is set again and again",
    ),
    _fleet(
        "_TermsOf._terms",
        "cluster_keys=clusters,",
        "",
        "the engine and the metadata controller set a key back in turns",
    ),
    _fleet(
        "_TermsOf._terms",
        "ignored=self._common.ignored,",
        "",
        "a key that the operator is told to leave alone is written",
    ),
    _fleet(
        "plan_fleet",
        "if elder:",
        "if False:",
        "two that refer to one object both act where they meet",
    ),
    _fleet(
        "_meets",
        "if other.place.regions and resource.region not in other.place.regions:",
        "if False:",
        "what is asked for in another region keeps ours from being done",
    ),
    _granting(
        "refusal_of_reference",
        "if any(reference.namespace in each.spec.references for each in grants.of(namespace)):",
        "if True:",
        "whoever may make a CloudMetadata uses the tags of another namespace",
    ),
    _granting(
        "granted",
        "if not mine:",
        "if False:",
        "a namespace that no grant names does what it likes",
    ),
    _granting(
        "_missing",
        "there = [each for each in grants if each.allows_account(account)]",
        "there = list(grants)",
        "a grant for one account is one for all of them",
    ),
    _granting(
        "_missing",
        "if not any(each.allows_key(key) for each in by):",
        "if not any(each.allows_key(key) for each in there):",
        "what two grants give is mixed: a key of one on the resources of the other",
    ),
    _granting(
        "Grants.are_none",
        "return not self.readable and not self.unreadable",
        "return not self.readable",
        "a grant that is not valid opens everything again",
    ),
    _controller(
        "Caches.grants",
        "if follower.state is State.SYNCED else None",
        "",
        "a watch of grants that fails reads as: there is none, so everything is allowed",
    ),
    _controller(
        "Caches.clusters",
        "if None in known:",
        "if not any(known):",
        "while the clusters of one cloud are not known, keys that they ask for are changed",
    ),
    _clusters(
        "_keys",
        'if cluster.get("kind") == POWERVS_CLUSTER_KIND:',
        "if False:",
        "on IBM Cloud the engine and the metadata controller set a key back in turns",
    ),
    _clusters(
        "_keys",
        'return ibm_tags(ibm_tag_name(each["key"], each.get("value") or "") for each in rows if each.get("key"))',
        'return [each["key"] for each in rows]',
        "a key that a cluster spells in another case is fought over",
    ),
    _clusters(
        "_OWNERS",
        "Cloud.IBM: (ibm.UUID,)",
        "Cloud.IBM: ()",
        "the marks of a cluster's resources are not known on IBM Cloud: a key is set back in turns",
    ),
    _clusters(
        "cluster_keys",
        "(journal.owner.uuid, *journal.attached)",
        "(journal.owner.uuid,)",
        "on a resource that a cluster is given, the engine and the metadata controller set a key back in turns",
    ),
    _clusters(
        "asked_for_on",
        "(resource.id, *owners)",
        "(resource.id,)",
        "on a resource of a cluster, the engine and the metadata controller set a key back in turns",
    ),
    _planning(
        "_listed",
        "if resource in SERVED_RESOURCES:",
        "if True:",
        "where grants cannot be found a plan reads that there are none",
    ),
    _controller(
        "Caches._known",
        "follower.state in (State.SYNCED, State.ABSENT)",
        "True",
        "a watch of clusters that fails reads as: there is none, and the keys that they ask for are changed",
    ),
    _work(
        "TagWork._asked",
        "if beside is None or any(not isinstance(error, NeedsPerson) for error in outcome.unasked.values()):",
        "if False:",
        "a region that cannot be asked for a moment makes two halves of a plan, each below the limit",
    ),
    _work(
        "TagWork._asked",
        "{*beside, *outcome.failed})",
        "())",
        "whoever splits the classifiers, or a read that fails, passes by the approval",
    ),
    _work(
        "TagWork.carry_out",
        "await self.used(answer.digest)",
        "pass",
        "a digest that was approved once approves an equal plan for ever",
    ),
    Mutant(
        "operator/metadata/means.py",
        "Means.work",
        "resource, raw = (CLOUD_METADATAS, cloud) if cloud else (PROVIDERS[provider.kind], dict_of(provider))",
        "resource, raw = (PROVIDERS[provider.kind], dict_of(provider))",
        "whoever may annotate the object of one provider approves what a CloudMetadata asks for",
    ),
    _writes(
        "_Sending._free",
        "before.update(batch.targets)",
        "pass",
        "a tag is added before another one is removed: a resource with as many tags as are allowed refuses it",
    ),
    _writes(
        "_Sending._free",
        "before = set(self.busy)",
        "before = set()",
        "two calls change one resource at once",
    ),
    _writes(
        "_Sending._try",
        "if not self.may_go():",
        "if False:",
        "a grant that is withdrawn while tags are written stops nothing",
    ),
    _wanted(
        "_untouchable",
        "if not at.rules.granted(at.key):",
        "if False:",
        "a withdrawn grant removes what it allowed before",
    ),
    _fleet(
        "Rivals.__init__",
        "cloud = other.place.cloud",
        "cloud = Cloud.AWS",
        "what is asked for in another cloud keeps ours from being done",
    ),
    _removal(
        "TagRemoval.reconcile",
        "async with self._means.alone(reference):",
        "if True:",
        "a pass that has begun writes tags for an object that has just gone: they stay for ever",
    ),
    _removal(
        "TagRemoval._work",
        "if late > 0 and known.is_open_for(writer):",
        "if False:",
        "a write that was under way takes effect after the removal: the tag stays for ever",
    ),
    _removal(
        "TagRemoval._remove",
        "if isinstance(outcome, Outcome) and outcome.is_complete:",
        "if isinstance(outcome, Outcome):",
        "an object goes while its tags are still there",
    ),
    _removal(
        "TagRemoval.reconcile",
        "await self._means.hold(provider)  # with or without a CloudMetadata",
        "pass",
        "Remove that is set after the CloudMetadata went lets the object go with its tags still there",
    ),
    _removal(
        "TagRemoval._work",
        "if not known.written_for(writer):",
        "if writer_of(provider, ring).begun is not None and not provider.annotations:",
        "whoever strips the annotation lets an object go whose tags the record proves",
    ),
    _pass(
        "RemovalPass.run",
        "forgotten: dict[str, Record] = {each: {} for each in silent if each in placed}",
        "forgotten: dict[str, Record] = {each: {} for each in silent}",
        "what another region or account has reads as gone, and the record forgets it",
    ),
    _pass(
        "RemovalPass.run",
        "nowhere = () if unasked else tuple(each for each in silent if each not in placed)",
        "nowhere = ()",
        "an object goes silently although the record proves tags that stay",
    ),
    _accounts(
        "AwsPlace.holds",
        "return address == own",
        "return False",
        "a bucket is never forgotten, and its name in other hands counts as ours",
    ),
    _accounts(
        "AwsPlace.holds",
        "(arn.region, arn.account) == (self.region, self.account)",
        "arn.region == self.region",
        "the record forgets what is in an account that the object does not name any more",
    ),
    _writer(
        "writer_of",
        "if known and is_same(signature, _signature(provider, uid, digest, count, ring)):",
        "if known:",
        "whoever may edit one object removes what was written for another one",
    ),
    _pass(
        "TagPass.run",
        "differing = [each for each in read.values() if each != found[each.id][0]]",
        "differing = list[Resource]()",
        "what is written and removed is decided on the index",
    ),
    _pass(
        "TagPass.run",
        "fleet = draft.planned_anew({*failed, *(each.id for each in differing)}, self._plan(demand, differing, known))",
        "fleet = draft.planned_anew({each.id for each in differing}, self._plan(demand, differing, known))",
        "a resource that could not be read is written on what the index shows",
    ),
    _work(
        "TagWork.carry_out",
        "known = await self.store.save(known, before, self.ring, _places(planned))",
        "pass",
        "a tag is written before it is on record: after a crash it is nobody's",
    ),
    _work(
        "TagWork.carry_out",
        "await self.begin()",
        "pass",
        "a record that went with its head reads as: nothing was ever written",
    ),
    _work(
        "TagWork.carry_out",
        "if known.has_head:",
        "if True:",
        "a first write that only removes keys of others makes the whole record read as lost",
    ),
    _metadata(
        "MetadataReconciler._work",
        "if unsigned and known.has_head and",
        "if unsigned and",
        "a crash between the first shard and the head, and another one, make the record read as lost",
    ),
    _part(
        "record_of_part",
        "before if key in perhaps else was",
        "before",
        "a write that was refused is a claim: what a person sets there later is removed as ours",
    ),
    _part(
        "record_of_part",
        "return earlier if not found and isinstance(earlier, RecordLost) else found",
        "return found",
        "a refused write makes a lost record read as: nothing was ever written",
    ),
    _writes(
        "_Sending._try",
        "if way.is_hopeless:",
        "if False:",
        "without a permission each pass costs two calls for each resource",
    ),
    _telling(
        "_tell_part",
        "if speaking is cloud:",
        "if speaking is not None:",
        "two that refer to one object write its status in turns, for ever",
    ),
    _speaking(
        "speaker",
        "if isinstance(demand, Demand)",
        "",
        "an object that is refused says of tags that are as wanted that nothing is done",
    ),
    _speaking(
        "_speaking",
        '"deletionTimestamp" not in each["metadata"] and',
        "",
        "an object in deletion, of which nothing is done, keeps the others from telling what is so",
    ),
    _speaking(
        "referred",
        "if grants is None or not means.stored.knows_clouds():",
        "if False:",
        "a process that has just begun says of every object that nobody refers to it",
    ),
    _speaking(
        "referred",
        "if means.namespace and",
        "if False and",
        "operators of two namespaces write one status in turns",
    ),
    _controller(
        "Caches.knows_clouds",
        "return self._controller().follower(CLOUD_METADATAS).state is State.SYNCED",
        "return True",
        "a watch of CloudMetadata that has not begun reads as: nobody refers to any object",
    ),
    _metadata(
        "MetadataReconciler._give_up",
        "self._referred.pop(key, frozenset())",
        "frozenset()",
        "an object that nobody keeps any more reads as applied for ever",
    ),
    _removal(
        "TagRemoval.reconcile",
        "if await tell_unreferred(self._means, provider) is Referred.UNKNOWN:",
        "if False:",
        "what was given up while no process ran reads as applied for ever",
    ),
    _plan(
        "_Planner._acts",
        "return self._acting in (None, claimant.uid)",
        "return True",
        "the pass of one object writes what another one asks for, in its name",
    ),
    _tagger(
        "AwsTagger.read",
        "unknown = {arn: _unreadable(arn) for arn in arns if reading_of(arn) is Reading.NEVER}",
        "unknown = {}",
        "a resource whose service is not known reads as untagged, and a foreign value on it is overwritten",
    ),
    _tagger(
        "AwsTagger.find",
        "return await self._index.with_tag(query.key, query.values or ())",
        "return await self.with_tag(query.key, query.values)",
        "where the index is denied, what no service lists counts as released",
    ),
    _stored(
        "Shard.of",
        "return RecordLost() if self.knowledge is Knowledge.PART else {}",
        "return {}",
        "a lost record reads as: nothing was ever written",
    ),
    _record(
        "TagRecord.load",
        "named = frozenset(range(SHARDS)) if begun or head.version else frozenset()",
        "named = frozenset()",
        "a record that went with its head reads as: nothing was ever written",
    ),
    _record(
        "StoredRecord.of",
        "if resource in self._records or not self.lost:",
        "if True:",
        "where a part of the record is lost, what it does not name counts as never written",
    ),
    _record(
        "_opened",
        "return (text if good else None), stored",
        "return text, stored",
        "whoever may edit ConfigMaps makes us remove tags that are not ours",
    ),
    _record(
        "_opened",
        "if _is_missing(ring, [digest]):",
        "if False:",
        "the record of another operator, or of a key that is lost, is written over",
    ),
    _record(
        "_opened",
        "if not ring.readable(digest, RECORD_UUID):",
        "if False:",
        "after a person accepted the loss of a key no tag is written any more",
    ),
    _record(
        "TagRecord.load",
        "return _of_unknown_age(record) if record.behind else record",
        "return record",
        "a record from a backup claims a tag that somebody else has set since, and it is removed",
    ),
    _record(
        "TagRecord._shard",
        "shard if shard.count >= least else lost",
        "shard",
        "one part of the record from a backup claims a tag that somebody else has set since",
    ),
    _record(
        "TagRecord.save",
        "known = await self._keep_in_mind(known, ring)",
        "pass",
        "the first write after a backup makes all the other parts of the old record believed",
    ),
    _stored(
        "Shard.with_records",
        "(id(self.records[resource]), id(changed[resource]))",
        "id(self.records[resource])",
        "of resources with one record only one is looked at, and an old record is believed of the others",
    ),
    _stored(
        "Shard.with_records",
        "return Shard(self.knowledge, records, kept, self.count + forgot)",
        "return Shard(self.knowledge, records, kept, self.count)",
        "nothing tells a record from before a key was forgotten",
    ),
    _writer(
        "witnessed",
        "if writer_of(each, ring).count == count",
        "if count",
        "whoever may edit one object makes the whole record count as lost",
    ),
    _work(
        "TagWork._witness",
        "await self.note(known.total)",
        "pass",
        "a record that is put back whole is believed",
    ),
    _record(
        "TagRecord.load",
        "found |= await self._by_name([each for each in map(self._shard_name, sorted(named)) if each not in found])",
        "pass",
        "a record that lost its label reads as lost, or is in the way of each write for ever",
    ),
    _trouble(
        "Trouble.told",
        "if times <= PATIENCE and not isinstance(problem, _LASTING):",
        "if not isinstance(problem, _LASTING):",
        "a conflict that comes back for ever is a loop each second that nobody sees",
    ),
    _needs(
        "_of_record",
        "if digests else []",
        "if not digests else []",
        "the key of the record is taken out of the ring, and every write of tags stops",
    ),
    _metadata(
        "MetadataReconciler._hold",
        "await self._means.sign(provider, ring)",
        "pass",
        "an earlier key can never be taken out of the ring, or a restored object is another writer",
    ),
    _record(
        "TagRecord._write_shard",
        "if any(base.shard.of(resource) != known.of(resource) for resource in records):",
        "if False:",
        "of two writers of one resource the second one forgets what the first one wrote",
    ),
    _fleet(
        "_TermsOf._classifiers",
        "each for each in met if each.selector < self._age",
        "each for each in met",
        "a classifier of a younger object keeps what an older one asks for from being written",
    ),
    _fleet(
        "_TermsOf._classifiers",
        "each.classifiers.keys_that_select(resource)",
        "each.classifiers.keys",
        "a classifier that nothing has keeps a key from being written",
    ),
    _active(
        "on_all",
        "carried_out if key in written else",
        "True if key in written else",
        "a tag that waits for an approval, or was refused, is listed as active",
    ),
    _active(
        "on_all",
        "else value in tags.get(key, ())",
        "else True",
        "a tag is listed as active on resources where somebody else's value stays",
    ),
    _active(
        "active_list",
        "if outcome.has_unseen:",
        "if False:",
        "a tag is listed as active on resources of which nothing is known",
    ),
    _active(
        "active_list",
        "if outcome.selected else {}",
        "",
        "tags are listed as active although no resource was found",
    ),
    _status(
        "_passes_by",
        "if _failing_for(raw, now) > outcome.period:",
        "if False:",
        "what cannot be written for hours reads as ready, and nobody is told",
    ),
    _metadata(
        "MetadataReconciler._next",
        "memory.retries = 0 if outcome.changed else memory.retries + 1",
        "pass",
        "a cloud that serves nothing is asked for the whole fleet every five seconds",
    ),
    _work(
        "_lasting",
        "if not known or not",
        "if True or not",
        "a right that was lost on IBM Cloud is tried for ever, and nobody is told",
    ),
    _work(
        "_confirmed",
        "if not written.vanished:",
        "if True:",
        "a word of the cloud about something else makes the record forget what is there: its tags stay for ever",
    ),
    _pass(
        "PassMemory.written",
        "self.turns[at] = set_back(self.turns.get(at), now, period)",
        "pass",
        "two controllers set a tag back in turns, for ever",
    ),
    _pass(
        "PassMemory.written",
        "self.turns[at] = removed(self.turns.get(at), now, period)",
        "pass",
        "one controller sets a tag and another removes it in turns, for ever",
    ),
    _writes(
        "_Way.is_hopeless",
        "and not self.succeeded",
        "",
        "what is allowed beside what is denied is never tagged",
    ),
    _work(
        "TagWork.carry_out",
        "turned(batches(some), planned.turn)",
        "batches(some)",
        "what is allowed behind what is denied is never tagged",
    ),
    Mutant(
        "tagging/operations.py",
        "operation",
        "| dict(exact or {})",
        "| dict.fromkeys(exact or {})",
        "a tag that is to go only with one value goes with any",
    ),
    Mutant(
        "reconcilers/metadata/demand.py",
        "_operations",
        "if keys and opcode is not Opcode.DELETE:",
        "if False:",
        "what is listed for deletion is ignored without a word where the opcode is another",
    ),
    _speaking(
        "_speaking",
        "if refers and refusal_of_reference(grants, key_of(each).namespace, reference) is None:",
        "if refers:",
        "a stranger's namespace writes the status of our tags",
    ),
    _writer(
        "_said",
        'if found else ("", "", "", 0)',
        'if found else ("u", "", "s", 0)',
        "whoever may annotate one object marks the record of everybody as lost",
    ),
    _finds(
        "SharedFinds.find",
        "if now - when >= SHARED_SECONDS",
        "if False",
        "what an index has shown once is what is there for ever",
    ),
    _accounts(
        "RegionIndex._settled",
        "if now - self._absent.setdefault(arn, now) >= ABSENT_SECONDS:",
        "if True:",
        "what an index that lags does not show counts as gone: its tags stay for ever",
    ),
    _status(
        "_status",
        '"message": api_conditions.cut(flat.message),',
        '"message": flat.message,',
        "a status of megabytes is stored by no API server: nothing is told at all",
    ),
    _active(
        "keeping",
        "value = listed if proven else on_all",
        "value = listed or on_all",
        "whoever may write a status has tags written that no spec names",
    ),
    _active(
        "keeping",
        "if count == len(found)",
        "if count",
        "a key that was deleted, and that one resource would not give up, comes back on all others",
    ),
    _plan(
        "_Planner._wanted",
        "and (entry is None or entry.writer == claimant.uid):",
        "and True:",
        "two objects that keep a key with different values take it from each other in each pass",
    ),
    _metadata(
        "MetadataReconciler._begin",
        "await tell_applying(self._means, cloud, provider)",
        "pass",
        "who waits for Ready after an edit is told of the tags from before",
    ),
)
