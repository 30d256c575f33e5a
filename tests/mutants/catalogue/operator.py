"""Safety lines of the operator: writes to the object, one reconcile, queue, limits, audit, events."""

from functools import partial

from mutants.rows import Mutant

_objects = partial(Mutant, "controllers/objects.py")
_reconciler = partial(Mutant, "controllers/reconciler.py")
_account = partial(Mutant, "providers/ibm/accounts.py")
_served = partial(Mutant, "providers/access/served_account.py")
_app = partial(Mutant, "controllers/app.py")
_ports = partial(Mutant, "providers/access/ports.py")
_limits = partial(Mutant, "providers/access/limits.py")
_audit = partial(Mutant, "providers/access/audit.py")
_chain = partial(Mutant, "providers/access/audit_chain.py")
_around = partial(Mutant, "controllers/owner_cluster.py")
_events = partial(Mutant, "controllers/events.py")
_wakes = partial(Mutant, "controllers/predicates.py")
_controller = partial(Mutant, "controllers/controller.py")
_queue = partial(Mutant, "controllers/workqueue.py")
_planning = partial(Mutant, "controllers/plan/planner.py")
_ring = partial(Mutant, "controllers/keyring/stored_form.py")
_ring_file = partial(Mutant, "controllers/keyring/file.py")
_ring_secret = partial(Mutant, "controllers/keyring/secret.py")
_ring_use = partial(Mutant, "controllers/keyring/needs.py")
_orphans = partial(Mutant, "controllers/recovery/orphans.py")
_recovery = partial(Mutant, "controllers/recovery/lost_objects.py")
_keeper = partial(Mutant, "controllers/keyring/keeper.py")

WRITES_TO_THE_OBJECT = (
    _objects(
        "ObjectHandle.apply",
        'metadata = {**patch.get("metadata", {}), "resourceVersion": self.version}',
        'metadata = {**patch.get("metadata", {})}',
        "the journal is written over a version that somebody else has changed",
        killed_by="tests/unit/controllers/test_controllers_objects.py::test_a_journal_is_not_written_over_one_that_somebody_else_has_written",
    ),
    _objects(
        "ObjectHandle.patch_status",
        '{"metadata": {"resourceVersion": self.version}, "status":',
        '{"status":',
        "a status is written over a newer one",
    ),
    _objects(
        "ObjectHandle.apply",
        "self.raw = await self._send",
        "await self._send",
        "the second write of a pass is sent with the version from before the first",
    ),
    _objects(
        "ObjectHandle.patch_status",
        "self.raw = await self._send",
        "await self._send",
        "a write after the status is sent with the version from before it",
    ),
    _objects(
        "ObjectHandle.patch_status",
        "if before == status:",
        "if False:",
        "an equal status is written again",
    ),
    _objects(
        "ObjectHandle.patch_status",
        "last=before",
        "last={}",
        "a field that is gone stays in the status",
    ),
    _objects(
        "ObjectHandle._send",
        "except kube.Conflict as error:",
        "except ZeroDivisionError as error:",
        "a conflict counts as a failure and does not start the pass again",
    ),
    _objects(
        "ObjectHandle._send",
        "except kube.NotFound as error:",
        "except ZeroDivisionError as error:",
        "an object that was deleted during the pass counts as a failure",
    ),
)

RECONCILE = (
    _reconciler(
        "Reconciler._release",
        "            plan = None",
        "            raise",
        "a spec that breaks the decision keeps everything that the object owns",
        killed_by="tests/unit/controllers/test_controllers_toy_kind.py::test_a_delete_does_not_depend_on_the_spec[nothing]",
    ),
    _reconciler(
        "Reconciler.reconcile",
        "await self._write(document, status.held(document.raw, DEFECT, _told(defect), self._now()))",
        "pass",
        "an object that no reconcile gets through shows nothing, and whoever waits for it waits for ever",
        killed_by="tests/unit/controllers/test_controllers_toy_kind.py::test_a_defect_is_told_and_raised",
    ),
    _reconciler(
        "Reconciler.reconcile",
        "return RequeueAfter(CONFLICT_SECONDS)",
        "return Done()",
        "after a conflict no pass follows",
    ),
    _reconciler(
        "Reconciler._decide",
        "return RequeueAfter(SLOW_SECONDS), ()",
        "return Done(), ()",
        "an object that waits for its Cluster is reconciled only when it changes",
    ),
    _reconciler(
        "Reconciler._decide",
        "return RequeueAfter(OCCUPIED_SECONDS), ()",
        "return Done(), ()",
        "a delete that waits for machines is never reconciled again: machines are not watched",
    ),
    _reconciler(
        "Reconciler._identified",
        "await document.apply(found.patch)",
        "pass",
        "the cloud is called before identity and finalizer are stored",
    ),
    _reconciler(
        "Reconciler._identified",
        "lost = not isinstance(found, identity.Identified) and uid in self._known",
        "lost = False",
        "after the journal was lost the process keeps the state of the old one",
        equivalent="the engine also drops its state when a journal is neither what it read last nor what it wrote",
    ),
    _reconciler(
        "Reconciler._identified",
        "minted = isinstance(found, identity.Minted) and not (lost or found.anew)",
        "minted = isinstance(found, identity.Minted)",
        "no settle time after a lost journal, although creates of the lost one may be under way",
    ),
    _reconciler(
        "Reconciler._identified",
        "minted = isinstance(found, identity.Minted) and not (lost or found.anew)",
        "minted = True",
        "a restarted process creates before a create of the earlier one has settled",
    ),
    _reconciler(
        "Reconciler._identified",
        "if journal.account != account:",
        "if False:",
        "with a key of another account everything seems gone, and is created again",
    ),
    _reconciler(
        "Reconciler._identified",
        "account=found.journal.account or account",
        "account=account",
        "the account of the resources is forgotten when the key changes",
    ),
    _reconciler(
        "Reconciler._bind",
        "if isinstance(binding, NoCredentials):",
        "if isinstance(binding, NoCredentials) and proceed is None:",
        "an object without credentials stops the worker instead of getting a message",
    ),
    _reconciler(
        "Reconciler._bind",
        'self._known.pop(document.raw["metadata"]["uid"], None)',
        "pass",
        "changes by another operator while there were no credentials are not read",
    ),
    _reconciler(
        "Reconciler._bind",
        "return RequeueAfter(SLOW_SECONDS), ()",
        "return Done(), ()",
        "an object without credentials is never reconciled again",
    ),
    _reconciler(
        "Reconciler._remember",
        "or self._known[uid].cloud is not cloud",
        "",
        "reads of one account count for another",
    ),
    _reconciler(
        "Reconciler._remember",
        "known.state.invalidate()",
        "pass",
        "an edit of the spec waits for the next deep pass",
    ),
    _reconciler(
        "Reconciler._ensure",
        "if plan.mode is Mode.FROZEN:",
        "if False:",
        "an object without the annotation changes what it owns",
    ),
    _reconciler(
        "Reconciler._ensure",
        "known.generation = int(document.raw",
        "_ = int(document.raw",
        "our own write of the endpoint counts as an edit of the spec, and everything is read again",
    ),
    _reconciler(
        "Reconciler._release",
        "if done.released and isinstance(plan, Undecided) and not never_began:",
        "if False:",
        "the finalizer is removed although the places to search for strays are unknown",
    ),
    _reconciler(
        "Reconciler._release",
        "graph = plan.graph if isinstance(plan, Wanted) else Graph(())",
        "graph = Graph(())",
        "a delete searches for strays nowhere",
    ),
    _reconciler(
        "Reconciler._release",
        'self._known.pop(document.raw["metadata"]["uid"], None)',
        "pass",
        "the state of deleted objects piles up",
    ),
    _reconciler(
        "Reconciler._release",
        "cloud.forget(_subject(document.raw))",
        "pass",
        "drivers of deleted objects pile up, and serve the next object with the name",
    ),
    _reconciler(
        "Reconciler._write",
        """        if update.patch:
            await document.apply(update.patch)
        if update.changed:
            await document.patch_status(update.status)
""",
        """        if update.changed:
            await document.patch_status(update.status)
        if update.patch:
            await document.apply(update.patch)
""",
        "a status is ready before it has the endpoint",
    ),
    _reconciler(
        "_without",
        'rest = [name for name in metadata.get("finalizers") or () if name != finalizer]',
        "rest: list[str] = []",
        "finalizers of others are removed with ours",
    ),
    _reconciler(
        "Reconciler._failed",
        "return RequeueAfter(outcome.after), ()",
        "return Done(), ()",
        "after a refused search no pass follows",
    ),
)

ACCOUNT = (
    _served(
        "ServedAccount.deps",
        "audited = ObjectPort(self.port, subject, self._audit, in_hand)",
        "audited: Port = self.port",
        "changes of the cloud are not audited",
    ),
    _served(
        "ServedAccount.read_only_deps",
        "self._behind(ReadOnlyPort(self.port), ring)",
        "self._behind(self.port, ring)",
        "a plan writes to the cloud",
    ),
    _account(
        "IbmAccount.__exit__",
        "cancel_futures=True",
        "cancel_futures=False",
        "queued calls are sent after the operator was stopped",
    ),
    _served(
        "ServedAccount.forget",
        "del self._deps[key]",
        "pass",
        "drivers of deleted objects pile up",
    ),
    _account(
        "IbmFactsReader.look_up",
        "return NoAnswer(outcome.reason, outcome.message, outcome.after)",
        "return NoSuch()",
        "a failed read of resources that the manifest names counts as their absence",
    ),
    _app(
        "Operator.run",
        "await refuse_peer(client)",
        "pass",
        "two controllers serve one object",
    ),
    _app(
        "_refuse_peer_of",
        "if label in names.UPSTREAM_PROVIDERS:",
        "if False:",
        "two controllers serve one object",
    ),
    _app(
        "_refuse_peer_of",
        "except kube.Forbidden as error:",
        "except kube.Forbidden:\n        return\n    except ZeroDivisionError as error:",
        "the operator starts although it is unknown whether another provider serves the objects",
    ),
    _app(
        "Operator._build",
        "newest = await client.get(resource, key) if key in written else raw",
        "newest = raw",
        "a pass starts from a cached version older than what this process wrote",
    ),
    _app(
        "Operator._build",
        "written.add(key)",
        "pass",
        "a pass starts from a cached version older than what this process wrote",
    ),
    _planning(
        "_DryRun._is_over",
        " and result.seconds >= self._deps.intervals.slow",
        "",
        "a plan ends before the pass that takes tags off given resources",
    ),
    _planning(
        "_DryRun.__init__",
        "dry_run_deps(binding.cloud.read_only_deps(ring), self._overlay)",
        'binding.cloud.deps("", ring)',
        "a plan writes to the cloud",
    ),
)

PORTS = (
    _ports(
        "together",
        "if isinstance(result, BaseException) and not isinstance(result, Exception):",
        "if False:",
        "a cancellation of one of several tasks counts as a result",
    ),
    _ports(
        "PacedPort.send",
        "reply = await self._inner.send(timely)",
        "reply = await self._inner.send(call)",
        "a write that waited too long for a thread is sent although the marks it relies on are old",
    ),
    _ports(
        "PacedPort._run",
        "stale = call.effect is Effect.WRITE and self._now() - decided > STALE_WRITE",
        "stale = False",
        "a write that waited too long is sent although the marks it relies on are old",
    ),
    _ports(
        "PacedPort._run",
        "call.effect is Effect.WRITE and ",
        "",
        "a read that waited is refused although it depends on no decision",
    ),
    _ports(
        "PacedPort.send",
        "if self._now() + bucket.wait() > last:",
        "if False:",
        "a rate limited call is sent again for ever, and its pass never ends",
    ),
    _ports(
        "PacedPort.send",
        "bucket.throttled(refused.retry_after, sent=sent)",
        "bucket.throttled(sent=sent)",
        "the wait that the cloud asks for is ignored",
    ),
    _ports(
        "PacedPort.send",
        "bucket.served()",
        "pass",
        "an API that was throttled once is called slowly for ever",
    ),
    _ports(
        "PacedPort.send",
        "await bucket.take(call.sender, write=write, look=call.look, until=until)",
        "decided",
        "the rate has no limit",
    ),
    _ports(
        "ObjectPort.send",
        "self._audit.sent(self._subject, call)",
        "pass",
        "a change whose reply is lost leaves no line",
    ),
    _ports(
        "ObjectPort.send",
        "self._audit.done(self._subject, call, error)",
        "pass",
        "the audit log lacks the result of a refused change",
    ),
    _ports(
        "ObjectPort.send",
        "self._audit.done(self._subject, call, None)",
        "pass",
        "the audit log lacks the result of a change",
    ),
    _ports(
        "ObjectPort.send",
        "except BaseException as error:",
        "except Exception as error:",
        "the audit log lacks the result of a cancelled change",
    ),
    _limits(
        "Bucket.throttled",
        "if sent > self._halved_at:",
        "if True:",
        "eight calls that are refused together slow an API down to a call in ten seconds",
    ),
    _limits(
        "Bucket._rank",
        "not turn.write, not goes_on",
        "not goes_on",
        "a write waits behind the reads of all objects, comes too late each time, and its object never goes on",
    ),
    _limits(
        "Bucket._next",
        "if reads and self._writes_in_a_row >= READ_SHARE - 1:",
        "if False:",
        "one object's many writes keep all others from reading",
    ),
    _limits(
        "Bucket._wait_for",
        "elif self._now() > turn.until:",
        "elif False:",
        "writes whose time is over spend the tokens of those whose time is not",
    ),
    _limits(
        "Bucket.throttled",
        "self._rate = max(SLOWEST, self._rate / 2)",
        "pass",
        "the rate is not reduced after the cloud refused a call",
    ),
    _limits(
        "Bucket.throttled",
        "max(SLOWEST, self._rate / 2)",
        "self._rate / 2",
        "a cloud that refuses for long reduces the rate to nothing",
    ),
    _limits(
        "Bucket.throttled",
        "self._tokens = 0.0",
        "pass",
        "a burst is sent right after a refusal",
    ),
    _limits(
        "Bucket.wait",
        "return max(missing, self._closed_until - self._now())",
        "return missing",
        "the wait that the cloud asks for is ignored",
    ),
    _limits(
        "Bucket.served",
        "min(self._top, self._rate + self._top / 20)",
        "self._rate + self._top / 20",
        "the rate grows beyond its limit",
    ),
    _limits(
        "Bucket._refill",
        "min(self._burst, self._tokens + (now - self._seen) * self._rate)",
        "self._tokens + (now - self._seen) * self._rate",
        "a burst after an idle hour is as large as the hour",
    ),
    _audit(
        "FileAudit.__init__",
        "0o600",
        "0o644",
        "all users of the machine can read the audit log",
    ),
    _audit(
        "FileAudit.__init__",
        " | os.O_APPEND",
        "",
        "each start overwrites the audit log",
    ),
    _audit(
        "FileAudit.__init__",
        "fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "pass",
        "two processes break the chain of one audit log",
    ),
    _audit(
        "FileAudit._append",
        "if os.write(self._fd, data) != len(data):",
        "if not os.write(self._fd, data):",
        "half a line of the audit log counts as written, and its request is sent",
    ),
    _chain(
        "verified",
        'if _digest(began if began is not None else head, text) != found["head"]:',
        'if _digest(head_of(line), text) == found["head"]:',
        "a changed line of the audit log is not told",
    ),
    _audit(
        "_outcome",
        'word = "unknown" if isinstance(error, Unknown) else "refused"',
        'word = "refused"',
        "a change that may have taken effect is audited as refused",
    ),
    _audit(
        "_outcome",
        'return {"outcome": "unknown", "error": type(error).__name__}',
        'return {"outcome": "refused", "error": type(error).__name__}',
        "an interrupted change is audited as refused",
    ),
)

SURROUNDINGS = (
    _around(
        "OwnerClusterReader._crds",
        "return gate.Presence.UNKNOWN",
        "return gate.Presence.ABSENT",
        "an API server that denies the read counts as one without Cluster API",
    ),
    _around(
        "OwnerClusterReader._get",
        "return gate.UnreadableCluster(str(error))",
        "return gate.NoCluster()",
        "a Cluster that cannot be read counts as absent, and its pause is ignored",
    ),
    _around(
        "OwnerClusterReader._referrer",
        "return gate.UnreadableCluster(str(error))",
        "return gate.NoCluster()",
        "Clusters that cannot be listed count as absent, and the object is served without them",
    ),
    _around(
        "OwnerClusterReader._machines",
        "return gate.UnreadableMachines(str(error))",
        "return ()",
        "machines that cannot be listed count as gone, and their network is deleted",
    ),
    _around(
        "OwnerClusterReader._machines",
        ", label_selector=selector",
        "",
        "machines of another cluster hold the delete",
    ),
    _around(
        "OwnerClusterReader.context",
        'if raw["metadata"].get("deletionTimestamp") and self._served.machines is not None:',
        "if False:",
        "machines are not read before the delete",
    ),
    _around(
        "OwnerClusterReader._of_machine",
        "return gate.UnreadableCluster(str(error))",
        "return gate.NoCluster()",
        "a Machine that cannot be read counts as absent, and the pause of its Cluster is ignored",
    ),
    _around(
        "cluster_mapper",
        'reference.get("kind") == served.kind and ',
        "",
        "Clusters of other providers wake our objects",
    ),
    _events(
        "EventRecorder._allowed",
        "if mine.tokens < 1.0:",
        "if False:",
        "one object floods the API server with events",
    ),
    _events(
        "EventRecorder._post",
        "except NotFound:",
        "except ZeroDivisionError:",
        "an event that expired on the server is never created again",
    ),
    _events(
        "EventRecorder.run",
        "except KubeError as problem:",
        "except ZeroDivisionError as problem:",
        "after one refused event no more are sent",
    ),
    _events(
        "EventRecorder.record",
        "len(self._pending) >= QUEUED or ",
        "",
        "events pile up without limit while the API server is away",
    ),
    _events(
        "_cut",
        "return message if len(message) <= MESSAGE_LIMIT else",
        "return message if True else",
        "the API server refuses an event whose message is too long",
    ),
    _wakes(
        "on_spec_or_metadata",
        "if _own(before, own_annotations) != _own(after, own_annotations):",
        "if False:",
        "a journal that somebody takes off is put back at the next resync only",
    ),
    _wakes(
        "on_spec_or_metadata",
        "if _foreign(before, own_annotations) != _foreign(after, own_annotations):",
        "if False:",
        "a pause by annotation causes no reconcile",
    ),
    _wakes(
        "_foreign",
        " if name not in own",
        "",
        "each write of the journal causes another pass",
    ),
    _wakes(
        "on_spec_or_metadata",
        "if any(before.get(name) != after.get(name) for name in _COMPARED):",
        "if False:",
        "a deletion causes no reconcile",
    ),
)

KEY_RING = (
    _ring(
        "_check",
        "if digest != digest_of(stored.key):",
        "if False:",
        "a ring with mixed up keys proves nothing, and is not reported",
    ),
    _ring(
        "_key",
        "if len(key) < LEAST_BYTES:",
        "if False:",
        "an empty key is accepted, so anybody can sign",
    ),
    _ring(
        "parsed",
        'if content["version"] != VERSION:',
        "if False:",
        "a ring of a newer version is read as if it were of this one",
    ),
    _ring(
        "RingDocument.with_keys_of",
        "keys = {**other.keys, **self.keys}",
        "keys = dict(self.keys)",
        "added keys are missing",
    ),
    _ring(
        "RingDocument.of_object",
        "{(digest, uuid): derive(stored.key, uuid) for digest, stored in self.keys.items()}",
        "{(digest, uuid): stored.key for digest, stored in self.keys.items()}",
        "the export for one object contains the whole ring",
    ),
    _ring_file(
        "FileRing._refuse_shared",
        "if found.st_mode & 0o077:",
        "if False:",
        "a ring that others can read is used",
    ),
    _ring_file(
        "FileRing._refuse_shared",
        "if found.st_uid != os.geteuid():",
        "if False:",
        "a ring file of another user is used",
        equivalent="only root can make a file of another user, and the tests do not run as root everywhere",
    ),
    _ring_file(
        "FileRing._replace",
        "if now is None or _version(now) != version:",
        "if False:",
        "a key that another process added meanwhile is overwritten",
    ),
    _ring_file(
        "FileRing._create",
        "os.link(fresh, self.path)",
        "fresh.replace(self.path)",
        "of two operators that start at once the second overwrites the ring of the first",
    ),
    _ring_secret(
        "SecretRing._secret",
        'metadata["resourceVersion"] = version',
        "pass",
        "a key that another process added meanwhile is overwritten",
    ),
    _ring_secret(
        "SecretRing.read",
        "except kube.NotFound:",
        "except kube.KubeError:",
        "a ring that cannot be read counts as none, and a new one is made",
    ),
    _ring_use(
        "first_ring",
        "    if naming:\n",
        "    if False:\n",
        "a new ring is made although objects name keys of a lost one",
    ),
    _ring(
        "RingDocument.may_be_written_with",
        "newest.created + RETIRE_SECONDS - now",
        "0.0",
        "a key is removed while an operator that has not read the ring again writes with it",
    ),
    _ring(
        "Acceptance.and_before",
        "r | known.get(u, frozenset())",
        "r",
        "a second acceptance replaces the first one",
    ),
    _keeper(
        "RingKeeper._refuse_stale",
        "self._monotonic() - self._read_at > STALE_SECONDS",
        "False",
        "an operator that cannot read the ring for hours writes with a key that was removed",
    ),
    _keeper(
        "RingKeeper._refuse",
        "self._ring, self.problem = None, problem.message",
        "self.problem = problem.message",
        "with a damaged ring objects are served by the old one",
    ),
    _keeper(
        "RingKeeper.refresh",
        "except UnreachableRing as problem:",
        "except ZeroDivisionError as problem:",
        "an API server that does not answer for a moment stops everything",
    ),
    _keeper(
        "RingKeeper.refresh",
        "            self.changed()",
        "            pass",
        "objects that missed a key wait for the next resync after it was added",
    ),
    _reconciler(
        "Reconciler._without_key",
        'self._known.pop(document.raw["metadata"]["uid"], None)',
        "pass",
        "state from before the key was missing shortens waits after it is back",
    ),
    _reconciler(
        "Reconciler._without_key",
        "self._rings.missed()",
        "pass",
        "an added key is seen a minute later",
    ),
    _served(
        "ServedAccount.deps",
        "if self._deps[key].ring != ring:",
        "if False:",
        "drivers keep the key ring from before a key was added",
    ),
    _served(
        "ServedAccount.deps",
        "fenced = FencedPort(audited, self._clock, self._intervals.fence)",
        "fenced = audited",
        "a create is sent long after the write that allowed it",
    ),
    _app(
        "Operator.health",
        "ready=health.ready and not problem",
        "ready=health.ready",
        "an operator without a key ring reports that it is ready",
    ),
    _app(
        "Operator._build",
        "if raw is None or keeper.problem:",
        "if raw is None:",
        "a pass begins without a key ring",
        equivalent="the reconciler reads the ring first, and RingError ends the pass in the same way",
    ),
    _ports(
        "PacedPort._run",
        "if stale or self._clock.monotonic() > call.not_after:",
        "if stale:",
        "a create that waited in the queue is sent after its fence",
    ),
)

QUEUE = (
    _controller(
        "Controller._supervised",
        "self._restarts += 1",
        "pass",
        "the probe does not see that tasks die",
    ),
    _controller(
        "Controller._concerned",
        "except Exception:",
        "except ZeroDivisionError:",
        "one object that cannot be mapped ends the watch for all others",
    ),
    _controller(
        "Controller._check_settled",
        " and all(each.state is not State.STARTING for each in others)",
        "",
        "workers start before the other resources have been listed",
    ),
    _controller(
        "Controller._check_settled",
        "each.state is not State.STARTING for",
        "each.state is State.SYNCED for",
        "a refused watch blocks everything",
    ),
    _controller(
        "Controller._work",
        "self.queue.done(key)",
        "pass",
        "an object is reconciled once and never again",
    ),
    _controller(
        "Controller._succeeded",
        "self.queue.forget(key)",
        "pass",
        "a success does not reset the backoff",
    ),
    _controller(
        "Controller._succeeded",
        "if isinstance(result, RequeueAfter):",
        "if False:",
        "the requeue that a pass asks for is ignored",
    ),
    _controller(
        "Controller._failed",
        "self.queue.retry(key, _asked(problem))",
        "self.queue.retry(key)",
        "the wait that the API server asks for is ignored",
    ),
    _controller(
        "Controller._failed",
        "if key not in self._primary.objects and isinstance(problem, KubeError):",
        "if False:",
        "an object that was deleted during its pass is tried again for ever",
    ),
    _controller(
        "Controller._failed",
        "if self._said.get(key) == text:",
        "if False:",
        "the same problem is logged at each attempt",
    ),
    _controller(
        "_matters",
        "change.origin is Origin.LIST or ",
        "",
        "changes that only a list shows cause no reconcile: a lost event stays lost",
    ),
    _controller(
        "_priority",
        ' and "deletionTimestamp" not in change.new["metadata"]',
        "",
        "after a restart a delete waits behind the whole backlog",
    ),
    _controller(
        "Controller._following",
        "for obj in (change.old, change.new):",
        "for obj in (change.new,):",
        "a Cluster that is gone, or refers to another object now, causes no reconcile",
    ),
    _controller(
        "Controller.run",
        "await self._finish_in_hand()",
        "pass",
        "a stop interrupts running passes between create and record",
    ),
    _controller(
        "Controller._finish_in_hand",
        "asyncio.timeout(self._grace)",
        "asyncio.timeout(None)",
        "a stop never ends while one pass hangs",
    ),
    _controller(
        "Controller.health",
        " and self._settled.is_set()",
        "",
        "the probe reports ready before the workers run",
    ),
    _controller(
        "Controller.health",
        "max((now - begun for begun in self._begun.values()), default=0.0)",
        "0.0",
        "the probe does not see a pass that hangs",
    ),
    _queue(
        "WorkQueue.add",
        "if key in self._active:",
        "if False:",
        "two workers have one object at a time",
    ),
    _queue(
        "WorkQueue.add",
        "self._due.pop(key, None)",
        "pass",
        "a superseded wake hands the object out once more",
    ),
    _queue(
        "WorkQueue.done",
        "if priority is not None:",
        "if False:",
        "a change during a pass is lost",
    ),
    _queue(
        "WorkQueue.add_after",
        "if key in self._due and due >= self._due[key][0]:",
        "if False:",
        "a later wake replaces an earlier one",
    ),
    _queue(
        "WorkQueue.retry",
        "self._failures[key] = failures + 1",
        "self._failures[key] = 1",
        "a failing object does not back off",
    ),
    _queue(
        "WorkQueue.retry",
        "max(self._backoff.delay(failures, self._spread()), at_least)",
        "self._backoff.delay(failures, self._spread())",
        "the wait that a server asks for is ignored",
    ),
    _queue(
        "Backoff.delay",
        "min(self.first * 2.0 ** min(failures, 60), self.cap)",
        "self.first * 2.0 ** min(failures, 60)",
        "the backoff of an object that fails has no limit",
    ),
    _queue(
        "WorkQueue._take",
        " and not (may_backlog and self._live_in_a_row >= LIVE_BEFORE_BACKLOG)",
        "",
        "live changes starve the backlog",
    ),
    _queue(
        "WorkQueue.get",
        "self._notify_getter()  # the wake-up was for somebody",
        "pass",
        "a wake-up is lost with the worker that is cancelled",
    ),
    _queue(
        "WorkQueue.close",
        "self._closed = True",
        "pass",
        "a stopped operator takes new work",
    ),
    _queue(
        "WorkQueue._ring",
        "if wanted_at == at:",
        "if True:",
        "a superseded wake hands the object out once more",
    ),
)

THE_WAY_BACK = (
    _orphans(
        "orphans",
        "if uuid not in here:",
        "if True:",
        "what has an object here is listed as lost, and can be recovered beside it",
    ),
    _orphans(
        "_existing",
        "if (now := seen.get(one.id)) is not None:",
        "if (now := seen.get(one.id)) or True:",
        "what is gone is listed because an index still shows it",
    ),
    _recovery(
        "rebuilt",
        '"annotations": annotations, "finalizers": [served.finalizer]}',
        '"annotations": annotations}',
        "a recovered object that is deleted while it is paused goes at once, and leaves all that it owns",
    ),
    _recovery(
        "rebuilt",
        '"annotations": {names.PAUSED_ANNOTATION: names.RECOVERED},',
        '"annotations": {},',
        "a recovered object is served before a person has decided",
    ),
    _recovery(
        "rebuilt",
        " if seal_anew else {}",
        "",
        "marks that nothing proves count without a person's word",
    ),
    _orphans(
        "orphans",
        "if uuid in _uuids(deps.codec, one.tags)]",
        "]",
        "with a lost key a mark that an index still shows puts a resource on record that has lost it",
    ),
    _recovery(
        "Recovery.unproven",
        "if self.proven or self.born:",
        "if self.proven:",
        "a creation that was cut off makes a person say that the key is lost",
    ),
    _recovery(
        "_judged",
        "evidence.strength is Strength.COPIED and birth_marks.has_nonce(ctx, one.key, seen)",
        "evidence.strength is Strength.COPIED",
        "any copied mark counts as the birth mark of a create",
    ),
    _recovery(
        "Recovery.unproven",
        "        if self.proven or self.born:\n            return ()\n",
        "",
        "whoever may tag makes a person say that the key is lost, and his victim goes with the cluster",
    ),
    _recovery(
        "Recovery.unproven",
        "o.strength is Strength.COPIED and",
        "o.strength is not Strength.PROVEN and",
        "what another owner's mark is on is put on record with a lost key",
    ),
    _recovery(
        "Recovery.claimed_twice",
        "counts[one.marked.key] > 1",
        "False",
        "of two resources with one mark the last one wins, and the other is orphaned",
    ),
    _recovery(
        "recovery_of",
        "if len(found.names) == 1 and named:",
        "if named:",
        "of two owners in the marks the first one gets all resources",
    ),
)

MUTANTS = (
    *THE_WAY_BACK,
    *WRITES_TO_THE_OBJECT,
    *RECONCILE,
    *ACCOUNT,
    *PORTS,
    *SURROUNDINGS,
    *KEY_RING,
    *QUEUE,
)
