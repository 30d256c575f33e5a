"""Safety lines of the pure decisions: gate, identity, stable names, facts, wanted nodes, conditions and status."""

from functools import partial

from mutants.rows import Mutant

_gate = partial(Mutant, "providers/objects/gate.py")
_identity = partial(Mutant, "providers/objects/identity.py")
_slots = partial(Mutant, "providers/objects/logical_names.py")
_facts = partial(Mutant, "providers/ibm/powervs/facts.py")
_wanted = partial(Mutant, "providers/ibm/powervs/desired.py")
_existing = partial(Mutant, "providers/ibm/powervs/existing.py")
_input = partial(Mutant, "providers/ibm/powervs/spec_checks.py")
_names = partial(Mutant, "providers/ibm/powervs/names.py")
_groups = partial(Mutant, "providers/ibm/powervs/groups.py")
_subnets = partial(Mutant, "providers/ibm/powervs/subnets.py")
_recorded = partial(Mutant, "providers/ibm/powervs/recorded.py")
_balancers = partial(Mutant, "providers/ibm/powervs/balancers.py")
_conditions = partial(Mutant, "providers/objects/part_conditions.py")
_status = partial(Mutant, "providers/objects/cluster_status.py")
_powervs_status = partial(Mutant, "providers/ibm/powervs/status.py")
_any_status = partial(Mutant, "providers/objects/status.py")
_discover = partial(Mutant, "providers/ibm/powervs/adapter.py")
_storage = partial(Mutant, "providers/ibm/powervs/object_storage.py")
_table = partial(Mutant, "providers/objects/resource_rows.py")

GATE = (
    _gate(
        "decide",
        "if manager is not None and manager != names.MANAGED_BY_FREEHOLD:",
        "if False:",
        "an object that something else manages is served",
    ),
    _gate(
        "decide",
        'if deleting and served.finalizer not in (metadata.get("finalizers") or ()):',
        "if False:",
        "an object that we have released is served again while finalizers of others keep it",
    ),
    _gate(
        "decide",
        "if deleting and names.DELETE_FOR_MOVE_ANNOTATION in annotations:",
        "if False:",
        "clusterctl move deletes the cloud resources",
    ),
    _gate(
        "decide",
        "if deleting and names.DELETE_FOR_MOVE_ANNOTATION in annotations:",
        "if names.DELETE_FOR_MOVE_ANNOTATION in annotations:",
        "the annotation alone, on an object that is not being deleted, removes the finalizer",
    ),
    _gate(
        "decide",
        "if names.PAUSED_ANNOTATION in annotations:",
        "if False:",
        "a paused object is changed",
    ),
    _gate(
        "_by_cluster",
        'case FoundCluster(cluster) if (cluster.get("spec") or {}).get("paused") is True:',
        "case FoundCluster(cluster) if False:",
        "an object of a paused Cluster is changed",
    ),
    _gate(
        "_by_cluster",
        "lookup = context.owner if owner else context.referrer",
        "lookup = context.owner",
        "the pause of a Cluster that refers to the object is ignored",
    ),
    _gate(
        "_by_cluster",
        'return Hold(names.REASON_WAITING_FOR_CLUSTER, f"whether a Cluster owns it cannot be told: {why}")',
        "pass",
        "a Cluster that cannot be read counts as absent",
    ),
    _gate(
        "_by_cluster",
        "if isinstance(lookup, NoCluster):",
        "if False:",
        "resources are created for an object whose Cluster is gone",
    ),
    _gate(
        "owner_of",
        "group == names.CLUSTER_API_GROUP and ",
        "",
        "a Cluster of another API counts as the owner",
    ),
    _gate(
        "refers_to",
        '(group, reference.get("kind"), reference.get("name")) == (ours, raw.get("kind"), raw["metadata"]["name"])',
        '(reference.get("kind"), reference.get("name")) == (raw.get("kind"), raw["metadata"]["name"])',
        "a Cluster that refers to an object of another group holds ours",
    ),
    _gate(
        "owner_of",
        'kind = "Machine" if link is ClusterLink.MACHINE else "Cluster"',
        'kind = "Cluster"',
        "a machine is served for a Cluster that no Machine of it belongs to",
    ),
    _gate(
        "refers_to",
        ".get(link.value)",
        '.get("infrastructureRef")',
        "the infrastructure of a Cluster counts as its control plane",
    ),
    _gate(
        "_release",
        "case UnreadableMachines(why):",
        "case UnreadableMachines(why) if False:",
        "machines that cannot be listed count as gone",
    ),
    _gate(
        "_release",
        'return WaitForMachines(f"{kind} {shown} of this cluster must be deleted first")',
        "return Release()",
        "the network is deleted while machines use it",
    ),
    _gate(
        "_alone",
        "if isinstance(lookup, FoundCluster):",
        "if False:",
        "an object that a Cluster refers to is served before the owner is set",
    ),
    _gate(
        "_alone",
        "if label is not None:",
        "if False:",
        "an object is served before its Cluster is created",
    ),
    _gate(
        "_alone",
        "if context.mode is Mode.REQUIRED:",
        "if False:",
        "an object without a Cluster is served although one is required",
    ),
    _gate(
        "_alone",
        "if context.crds is Presence.UNKNOWN:",
        "if False:",
        "if CRDs cannot be read, the reason why the object waits is not reported",
    ),
    _gate(
        "_alone",
        " or names.JOURNAL_ANNOTATION in annotations",
        "",
        "an object without a Cluster is no longer served when Cluster API is installed",
    ),
    _gate(
        "cluster_name",
        "(owner.name if owner else label)",
        "label",
        "machines of the owner Cluster are not read",
    ),
)

IDENTITY = (
    _identity(
        "_identified",
        '(metadata.get("deletionTimestamp") or finalizer in (metadata.get("finalizers") or ()))',
        'metadata.get("deletionTimestamp")',
        "an object whose journal was lost gets a new identity and everything is created twice",
    ),
    _identity(
        "_identified",
        '(metadata.get("deletionTimestamp") or finalizer in',
        "(finalizer in",
        "an object that is being deleted gets a new identity, owns nothing, and is released",
    ),
    _identity(
        "proven_by_status",
        ' or held.get("uid") != raw["metadata"]["uid"]',
        "",
        "a copied status gives the resources of one object to another",
        killed_by="tests/unit/controllers/test_controllers_identity.py::test_a_recreated_object_gets_a_new_identity",
    ),
    _identity(
        "_recorded",
        "if owner != own:",
        "if False:",
        "a copied journal gives the resources of one object to another",
    ),
    _identity(
        "_recorded",
        "except CorruptJournal as error:",
        "except ZeroDivisionError as error:",
        "a journal that cannot be read ends the pass with a traceback",
    ),
    _identity(
        "_recorded",
        'if held or metadata.get("deletionTimestamp"):',
        "if True:",
        "a removed finalizer is not added again",
    ),
    _identity(
        "_recorded",
        'if held or metadata.get("deletionTimestamp"):',
        "if held:",
        "a finalizer is added to an object that is being deleted, which the API server refuses",
    ),
    _identity(
        "record_patch",
        '"finalizers": [*finalizers, finalizer],',
        '"finalizers": [finalizer],',
        "finalizers of others are removed",
    ),
    _identity(
        "record_patch",
        '"resourceVersion": metadata["resourceVersion"],',
        "",
        "two processes create two identities, and the second overwrites the first",
    ),
)

KEYS = (
    _identity(
        "_recorded",
        "    if not journal.key:\n",
        "    if False:\n",
        "a journal that whoever may make an object can write is believed",
    ),
    _identity(
        "proven_by_status",
        "not uuid or not key or",
        "not uuid or",
        "a status without a key proves an identity",
    ),
    _identity(
        "identify",
        "return KeyMissing(missing) if missing else found",
        "return found",
        "an object whose key is missing is served, although it may be a copy that another operator serves",
    ),
    _identity(
        "identify",
        "if isinstance(found, Identified | Restored):",
        "if isinstance(found, Identified):",
        "an object whose journal was lost is served without its key",
    ),
    _identity(
        "_minted",
        "Journal(owner, key=ring.writing, untouched=untouched, collects=collects)",
        "Journal(owner, untouched=untouched, collects=collects)",
        "a new object counts as one whose journal somebody else wrote, and is never served",
    ),
    _identity(
        "never_began",
        "if not journal.is_empty:",
        "if False:",
        "an object with resources is let go where its credentials were taken away",
    ),
    _identity(
        "never_began",
        'return keys.vouches(journal.key, journal.untouched, "untouched", raw["metadata"]["uid"])',
        "return True",
        "an object whose journal was emptied is let go where its credentials were taken away",
    ),
    _identity(
        "_identified",
        "if not (is_copy and anew):",
        "if not anew:",
        "a word on an object with a journal of its own gives it another identity",
    ),
    _identity(
        "in_status",
        '"key": journal.key, ',
        "",
        "an object whose journal was lost forgets which key it needs",
    ),
    _identity(
        "in_status",
        ', "collects": journal.collects',
        "",
        "an object whose journal was lost is no longer collected",
    ),
    _identity(
        "_minted",
        ", collects=collects",
        ", collects=True",
        "an object that is made with the gate off is collected when it is turned on",
    ),
)

WANTED = (
    _slots(
        "assign",
        "        if entry.name:\n",
        "        if False:\n",
        "a named subnet moves to another zone when one before it is removed",
    ),
    _slots(
        "_may_be",
        'entry.placement in ("", earlier.placement) and ',
        "",
        "an entry gets the subnet of another zone",
    ),
    _facts(
        "_answer",
        "return NoAnswer(outcome.reason, outcome.message, outcome.after)",
        "return NoSuch()",
        "a zone that could not be read counts as one that does not exist",
    ),
    _facts(
        "needs_global_routing",
        "return VPC_REGIONS.get(power_region) != vpc_region",
        "return power_region in VPC_REGIONS and VPC_REGIONS[power_region] != vpc_region",
        "an unknown pair of regions gets a gateway that routes nothing",
    ),
    _wanted(
        "wanted",
        "if not creating and not (journal and journal.ours):",
        "if not creating:",
        "without the annotation owned resources are forgotten",
    ),
    _wanted(
        "_created",
        "*given_location.check(spec, facts.places, journal))\n    if problems:\n",
        "*given_location.check(spec, facts.places, journal))\n    if False:\n",
        "a part of the infrastructure is created before the cloud refuses the rest",
    ),
    _wanted(
        "_existing",
        "    if missing:\n",
        "    if False:\n",
        "a read that failed breaks the pass",
    ),
    _wanted(
        "_existing",
        "    if problems:\n",
        "    if False:\n",
        "a manifest that names nothing is served",
    ),
    _wanted(
        "_frozen",
        "key in journal.entries or (node.given and not node.requires)",
        "True",
        "an object without the annotation seems to wait for resources that it never creates",
    ),
    _wanted(
        "_Build._local",
        'if gateway.attributes.get("global") is not False:',
        "if True:",
        "a gateway of others that routes locally is used",
    ),
    _wanted(
        "_Build._both_named",
        "return Naming.EXPLICIT if gateway and ends[end] else Naming.DEFAULT",
        "return Naming.EXPLICIT",
        "a connection of others is used although the spec names neither end",
    ),
    _wanted(
        "_route",
        "open_to if wish is None else wish",
        "bool(wish)",
        "a gateway that others use is changed to local routing",
    ),
    _wanted(
        "_route",
        'needed or bool(seen and seen.attributes.get("global"))',
        "needed",
        "a gateway that routes globally is changed to local routing while others use it",
    ),
    _wanted(
        "_Build.nodes",
        "yield from subnet_nodes(self.spec.vpc_subnets, self._subnets(), self.region, self.group)",
        'yield from subnet_nodes(self.spec.vpc_subnets, self._subnets(), self.region, "")',
        "subnets go to the account's default resource group",
    ),
    _wanted(
        "_Build._vpc",
        "parts = frozenset({api_server_rule(self.port)})",
        "parts: frozenset[Part] = frozenset()",
        "clients cannot reach the API server",
    ),
    _existing(
        "check",
        "if isinstance(facts.existing.get(WORKSPACE), NoSuch):",
        "if False:",
        "the object waits for a workspace that does not exist, without a message",
    ),
    _wanted(
        "_existing",
        "if ambiguous:",
        "if False:",
        "one of two workspaces of a name is used, which may be another team's",
    ),
    _existing(
        "missing",
        "{**asked, **unanswered}",
        "unanswered",
        "a fact that has not been read yet counts as answered",
    ),
    _existing(
        "_network_name",
        "not spec.network.id and ",
        "",
        "a network that is given by its id is searched by name",
    ),
    Mutant(
        "api/rules.py",
        "require_unique",
        "if value and seen.setdefault(value, index) != index:",
        "if False:",
        "two subnets of one name become one resource",
    ),
    _input(
        "_first_address",
        "if str(network) != text:",
        "if False:",
        "a CIDR with host bits is refused by the cloud only after other resources are created",
    ),
    _input(
        "_place",
        "elif isinstance(facts.zone, Answer) and not facts.zone.value.edge_router:",
        "elif False:",
        "in a zone without Power Edge Router everything before the gateway is created",
    ),
    _input(
        "_gateway",
        "if isinstance(facts.zone, Answer) and needs_global_routing(facts.zone.value.region, region):",
        "if False:",
        "a gateway is created that cannot route",
    ),
    Mutant(
        "providers/ibm/types/rules.py",
        "CLUSTER_RULES",
        "not balancers or any(each.public for each in balancers)",
        "True",
        "no load balancer is public, so none can be the endpoint",
    ),
    _names(
        "default_name",
        'ending = "-" + hashlib.sha256(cluster.encode()).hexdigest()[:8] + rule.foreign.sub("-", suffix)',
        'ending = rule.foreign.sub("-", suffix)',
        "two clusters with long names share one VPC name",
    ),
    _names(
        "dhcp_of",
        "inner if inner and network_of(inner) == network else network",
        "inner",
        "a network whose name only begins like that of a DHCP server is created under another name",
    ),
    _groups(
        "group_nodes",
        "if key not in _closure(other, needs)",
        "if True",
        "two groups that name each other form a cycle, and the object is refused",
    ),
    _groups(
        "api_server_rule",
        "retain=True",
        "retain=False",
        "the rule for the endpoint's port is removed when the Cluster's port changes",
    ),
    _groups(
        "_remote",
        'return {"address": remote.address} if remote.address else None',
        'return {"cidr_block": ANYWHERE}',
        "a rule for one address becomes one for all addresses",
    ),
    _groups(
        "_traffic",
        "if ports and (ports.minimum_port, ports.maximum_port) == _ALL_PORTS:",
        "if False:",
        "a rule for all ports is added again in each pass",
    ),
    _subnets(
        "subnet_names",
        "(*zones, *sorted(held))",
        "zones",
        "a zone that the cloud does not list for a moment makes its subnet surplus",
    ),
    _subnets(
        "subnet_nodes",
        "(spec and spec.zone) or one.placement",
        "(spec and spec.zone) or one.label",
        "an unnamed subnet is requested in a zone named 0",
    ),
    _subnets(
        "subnet_names",
        " if not is_nonce(key.logical)",
        "",
        "a stray that was recorded by its birth mark is wanted as the subnet of a zone of that name",
    ),
    _slots(
        "_may_be",
        "(earlier.ours or not earlier.chosen)",
        "not earlier.chosen",
        "a name that is taken out of the spec makes a second resource",
    ),
    _slots(
        "_may_be",
        "(earlier.ours or not earlier.chosen)",
        "True",
        "an entry without a name means what a stranger made and the spec does not name any more",
    ),
    _slots(
        "assign",
        "if one.name == entry.name",
        "if one.label == entry.name",
        "a default name that is written out makes a second resource",
    ),
    _recorded(
        "own_by_id",
        "entry.phase.ours and ",
        "",
        "what was given by its id is taken for our own",
    ),
    _wanted(
        "_created",
        "if twice := tuple(_named_twice(nodes)):",
        "if twice := ():",
        "a resource that is wanted by id and by name stops the pass with a defect",
    ),
    _storage(
        "is_served",
        "return GATE in gates or",
        "return True or",
        "object storage is created although its feature gate is off",
    ),
    _storage(
        "is_served",
        "(journal is not None and COS_INSTANCE in journal.entries)",
        "False",
        "object storage that was created before becomes surplus when the operator starts without the feature gate",
    ),
    _balancers(
        "_parts",
        "retain=not index",
        "retain=False",
        "the API server's listener is removed when the Cluster's port changes",
    ),
    _balancers(
        "balancers",
        "_resolved(spec.subnets, subnets) or tuple(all_subnets)",
        "_resolved(spec.subnets, subnets)",
        "a load balancer without a subnet is requested, and refused by the cloud",
    ),
)

STATUS = (
    _conditions(
        "_part",
        'unknown.append((names.REASON_READY_UNKNOWN, f"{name}: not reconciled yet"))',
        "pass",
        "a resource that was never read counts as ready",
    ),
    _conditions(
        "_part",
        "if blocked or waiting:",
        "if blocked:",
        "a resource that waits counts as ready",
    ),
    _conditions(
        "_part",
        "[*blocked, *waiting, *unknown]",
        "[*waiting, *blocked, *unknown]",
        "a problem that needs a person is hidden behind a resource that only waits",
    ),
    _conditions(
        "parts_deleting",
        ' and row.get("state") not in ("Kept", "Unknown")',
        "",
        "a kept resource is reported as being deleted",
    ),
    _status(
        "build_status",
        "if whole and not report.deleting:",
        "if whole:",
        "an object that is being deleted becomes ready",
        equivalent="while it is being deleted the first condition is Ready=False, so it is never whole",
    ),
    _status(
        "build_status",
        '{**before, "ready": before.get("ready") is True}',
        '{**before, "ready": False}',
        "ready becomes false at the first temporary error, and Cluster API starts again",
    ),
    _status(
        "build_status",
        'status["identity"] = dict(identity.in_status(raw, report.journal))',
        "pass",
        "a lost annotation can never be restored",
    ),
    _status(
        "_observe",
        'if ready.status == "True" and (report.plan.unmet or not (_host(raw) or endpoint)):',
        "if False:",
        "the cluster is ready without an endpoint",
    ),
    _status(
        "_endpoint",
        "if host := _host(raw):",
        'if host := "":',
        "an endpoint that the user set is overwritten",
    ),
    _status(
        "_endpoint",
        'return None if given else {"host": host, "port": plan.port}',
        'return {"host": host, "port": plan.port}',
        "a port that the user set is overwritten",
    ),
    _status(
        "_left_behind",
        "on_record = key == plan.endpoint and host == _set(raw)",
        "on_record = False",
        "a cluster is ready at whose endpoint nobody answers",
    ),
    _status(
        "_left_behind",
        "on_record = key == plan.endpoint and host == _set(raw)",
        "on_record = key == plan.endpoint",
        "a cluster whose user gives the endpoint is never ready again after its load balancer was lost",
    ),
    _status(
        "build_status",
        " if ours and host != _set(raw) else update",
        " if endpoint else update",
        "a cluster of an earlier version is ready at an endpoint where nobody answers",
    ),
    _discover(
        "discover",
        "frozen = journal is not None and bool(journal.ours)",
        "frozen = False",
        "an object with resources whose annotation was removed counts as one that only uses existing ones",
    ),
    _any_status(
        "updated",
        "if observations[0].type != names.PAUSED:",
        "if True:",
        "a paused object reports that its newest spec was observed",
    ),
    _any_status(
        "updated",
        'StatusUpdate(status, spec, status != (raw.get("status") or {}))',
        "StatusUpdate(status, spec, True)",
        "each pass writes a status although nothing changed",
    ),
    _powervs_status(
        "_Fields.single",
        "ownership(entry, self.report.outcomes.get(key)) in names.OURS",
        "True",
        "an existing resource is reported as created by us, and upstream's tools delete it",
    ),
    _table(
        "ownership",
        "if entry and entry.phase.ours:",
        "if entry:",
        "an existing resource is reported as managed",
    ),
    _table(
        "_left_alone",
        'if row.get("state") in _AT_REST:',
        "if False:",
        "a kept resource is reported as gone",
    ),
    _table(
        "_left_alone",
        'seen = row["id"] in gone or row.get("state") in _SEEN_IN_A_DELETE',
        "seen = True",
        "a resource that is on no record, and that nobody looked for, is reported as gone",
    ),
    _table(
        "_left_alone",
        'row.get("ownership") in names.OURS and ',
        "",
        "what belongs to somebody else is reported as gone",
    ),
    _table(
        "_since",
        'before.get("state") == row.get("state")',
        "False",
        "`since` changes in each pass, and each pass writes a status",
    ),
)

MUTANTS = (*GATE, *IDENTITY, *KEYS, *WANTED, *STATUS)
