"""Safety lines of the pure decisions: gate, identity, slots, facts, what is wanted, conditions and status."""

from functools import partial

from mutants.rows import Mutant

_gate = partial(Mutant, "reconcilers/gate.py")
_identity = partial(Mutant, "reconcilers/identity.py")
_slots = partial(Mutant, "reconcilers/stable_names.py")
_facts = partial(Mutant, "reconcilers/powervs/facts.py")
_wanted = partial(Mutant, "reconcilers/powervs/desired.py")
_existing = partial(Mutant, "reconcilers/powervs/existing.py")
_input = partial(Mutant, "reconcilers/powervs/input.py")
_names = partial(Mutant, "reconcilers/powervs/names.py")
_groups = partial(Mutant, "reconcilers/powervs/groups.py")
_subnets = partial(Mutant, "reconcilers/powervs/subnets.py")
_balancers = partial(Mutant, "reconcilers/powervs/balancers.py")
_conditions = partial(Mutant, "reconcilers/powervs/conditions.py")
_status = partial(Mutant, "reconcilers/powervs/status.py")
_any_status = partial(Mutant, "reconcilers/status.py")
_discover = partial(Mutant, "reconcilers/powervs/discover.py")
_table = partial(Mutant, "reconcilers/powervs/resource_rows.py")

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
        "an object that we have let go of is served again while others hold it",
    ),
    _gate(
        "decide",
        "if deleting and names.DELETE_FOR_MOVE_ANNOTATION in annotations:",
        "if False:",
        "clusterctl move deletes the cluster in the cloud",
    ),
    _gate(
        "decide",
        "if deleting and names.DELETE_FOR_MOVE_ANNOTATION in annotations:",
        "if names.DELETE_FOR_MOVE_ANNOTATION in annotations:",
        "the annotation alone, on an object that lives, takes the finalizer off",
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
        "a Cluster that refers to the object is not asked whether it is paused",
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
        "an object whose Cluster is gone is created for nobody",
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
        "a Cluster's infrastructure is taken for its control plane",
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
        "the network is deleted under machines that use it",
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
        "an object of a Cluster that comes later is served alone",
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
        "with CRDs unreadable nobody is told why the object waits",
    ),
    _gate(
        "_alone",
        " or names.JOURNAL_ANNOTATION in annotations",
        "",
        "an object that was served alone stops being served when Cluster API comes",
    ),
    _gate(
        "cluster_name",
        "(owner.name if owner else label)",
        "label",
        "machines of the owner's Cluster are not looked for",
    ),
)

IDENTITY = (
    _identity(
        "_identified",
        'if deleting or (restored is None and finalizer in (metadata.get("finalizers") or ())):',
        "if deleting:",
        "an object whose journal was lost gets a new identity and everything is created twice",
    ),
    _identity(
        "_identified",
        "if deleting or (restored is None",
        "if (restored is None",
        "an object that is being deleted gets a new identity, owns nothing, and is let go",
    ),
    _identity(
        "_in_status",
        ' or held.get("uid") != raw["metadata"]["uid"]',
        "",
        "a copied status hands the resources of one object to another",
        killed_by="tests/unit/reconcilers/test_reconcilers_identity.py::test_a_recreated_object_is_somebody_new",
    ),
    _identity(
        "_recorded",
        "if owner != own:",
        "if False:",
        "a copied journal hands the resources of one object to another",
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
        "a finalizer that somebody took off is not put back",
    ),
    _identity(
        "_recorded",
        'if held or metadata.get("deletionTimestamp"):',
        "if held:",
        "a finalizer is put on an object that is being deleted, which the API server refuses",
    ),
    _identity(
        "_patch",
        '"finalizers": [*finalizers, finalizer],',
        '"finalizers": [finalizer],',
        "finalizers of others are taken off",
    ),
    _identity(
        "_patch",
        '"resourceVersion": metadata["resourceVersion"],',
        "",
        "two processes mint two identities, and the second overwrites the first",
    ),
)

KEYS = (
    _identity(
        "identify",
        "return KeyMissing(missing) if unreadable else found",
        "return found",
        "an object whose key this operator has not is served: it may be a copy that another one serves",
    ),
    _identity(
        "identify",
        "if isinstance(found, Identified | Restored):",
        "if isinstance(found, Identified):",
        "an object whose journal was lost is served without its key",
    ),
    _identity(
        "_identified",
        'Journal(_owner(raw, metadata["uid"]), key=ring.writing)',
        'Journal(_owner(raw, metadata["uid"]))',
        "a new object counts as one from before the ring: public marks prove for it",
    ),
    _identity(
        "in_status",
        'return {**held, "key": journal.key} if journal.key else held',
        "return held",
        "an object whose journal was lost forgets which key it needs",
    ),
)

WANTED = (
    _slots(
        "assign",
        "        if entry.name in old:\n",
        "        if False:\n",
        "a named subnet moves to another zone when one before it goes",
    ),
    _slots(
        "assign",
        's.label.isdecimal() and entries[index].placement in ("", s.placement)',
        "s.label.isdecimal()",
        "an entry takes over the subnet of another zone",
    ),
    _slots(
        "assign",
        "s.label.isdecimal() and ",
        "",
        "an unnamed entry takes over a subnet that had a name",
    ),
    _slots(
        "_fresh",
        "taken = {slot.label for slot in (*chosen.values(), *leftover)}",
        "taken = {slot.label for slot in chosen.values()}",
        "a new entry gets the logical name of a subnet that is still there",
    ),
    _facts(
        "_answer",
        "return NoAnswer(outcome.reason, outcome.message, outcome.after)",
        "return NoSuch()",
        "a zone that could not be asked for counts as one that does not exist",
    ),
    _facts(
        "needs_global_routing",
        "return VPC_REGIONS.get(power_region) != vpc_region",
        "return power_region in VPC_REGIONS and VPC_REGIONS[power_region] != vpc_region",
        "a pair of regions that we do not know gets a gateway that routes nothing",
    ),
    _wanted(
        "wanted",
        "if journal and journal.ours:",
        "if False:",
        "without the annotation what is owned is forgotten",
    ),
    _wanted(
        "_created",
        "    problems = powervs_input.check(spec, facts)\n    if problems:\n",
        "    problems = powervs_input.check(spec, facts)\n    if False:\n",
        "half of the infrastructure is created before the cloud refuses the rest",
    ),
    _wanted(
        "_existing",
        "    if missing:\n",
        "    if False:\n",
        "a question that was not answered breaks the pass",
    ),
    _wanted(
        "_existing",
        "    if problems:\n",
        "    if False:\n",
        "a manifest that names nothing is acted on",
    ),
    _wanted(
        "_frozen",
        "key in journal.entries or (node.given and not node.requires)",
        "True",
        "a frozen object is shown as waiting for what it will never create",
    ),
    _wanted(
        "_Build._local",
        'if gateway.attributes.get("global") is not False:',
        "if True:",
        "a gateway of others that routes locally is taken for one that will do",
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
        "a gateway that others use is narrowed to local routing",
    ),
    _wanted(
        "_route",
        'needed or bool(seen and seen.attributes.get("global"))',
        "needed",
        "a gateway that routes globally is narrowed under its users",
    ),
    _wanted(
        "_Build.nodes",
        "yield from subnet_nodes(self.spec.vpc_subnets, subnets, self.names, self.region, self.group)",
        'yield from subnet_nodes(self.spec.vpc_subnets, subnets, self.names, self.region, "")',
        "subnets go to the account's default resource group",
    ),
    _wanted(
        "_Build._vpc",
        "parts = frozenset({api_server_rule(self.port)})",
        "parts: frozenset[Part] = frozenset()",
        "no client reaches the API server",
    ),
    _existing(
        "check",
        "if isinstance(facts.existing.get(WORKSPACE), NoSuch):",
        "if False:",
        "a workspace that does not exist is waited for without a word",
    ),
    _existing(
        "missing",
        "{**asked, **unanswered}",
        "unanswered",
        "what has not been asked for yet counts as answered",
    ),
    _existing(
        "_network_name",
        "not spec.network.id and ",
        "",
        "a network that is given by its id is looked for by name",
    ),
    _input(
        "_duplicates",
        "if value in seen:",
        "if False:",
        "two subnets of one name become one resource",
    ),
    _input(
        "_cidr",
        'if "/" not in value or str(network.network_address) != value.partition("/")[0]:',
        "if False:",
        "a range whose address is not its first is refused by the cloud halfway",
    ),
    _input(
        "_place",
        "elif isinstance(facts.zone, Answer) and not facts.zone.value.edge_router:",
        "elif False:",
        "in a zone without Power Edge Router the cluster is created up to its gateway",
    ),
    _input(
        "_gateway",
        "if isinstance(facts.zone, Answer) and needs_global_routing(facts.zone.value.region, region):",
        "if False:",
        "a gateway is created that can never route",
    ),
    _input(
        "_load_balancers",
        "if balancers and not any(b.public for b in balancers):",
        "if False:",
        "no balancer is public, so none can be the endpoint",
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
        "a network whose name only begins like a DHCP server's is created under another name",
    ),
    _groups(
        "group_nodes",
        "if key not in _closure(other, needs)",
        "if True",
        "two groups that name each other make a cycle, and the object is refused",
    ),
    _groups(
        "api_server_rule",
        "retain=True",
        "retain=False",
        "the rule for the endpoint's port goes when the Cluster's port changes",
    ),
    _groups(
        "_remote",
        'return {"address": remote.address} if remote.address else None',
        'return {"cidr_block": ANYWHERE}',
        "a rule for one address opens the group to the world",
    ),
    _groups(
        "_traffic",
        "if ports and (ports.minimum_port, ports.maximum_port) == _ALL_PORTS:",
        "if False:",
        "a rule for all ports is added again at each pass",
    ),
    _subnets(
        "subnet_keys",
        "(*zones, *sorted(held))",
        "zones",
        "a zone that the cloud does not list for a moment makes its subnet surplus",
    ),
    _subnets(
        "subnet_nodes",
        "slot.placement or slot.label",
        "slot.label",
        "an unnamed subnet is asked for in a zone named 0",
    ),
    _balancers(
        "_parts",
        "retain=not index",
        "retain=False",
        "the API server's listener goes when the Cluster's port changes",
    ),
    _balancers(
        "balancers",
        "_resolved(spec.subnets, subnets) or tuple(all_subnets)",
        "_resolved(spec.subnets, subnets)",
        "a balancer without a subnet is refused by the cloud",
    ),
)

STATUS = (
    _conditions(
        "_part",
        'unknown.append((names.REASON_READY_UNKNOWN, f"{name}: not reconciled yet"))',
        "pass",
        "what was never looked at counts as ready",
    ),
    _conditions(
        "_part",
        "if blocked or waiting:",
        "if blocked:",
        "what waits counts as ready",
    ),
    _conditions(
        "_part",
        "[*blocked, *waiting, *unknown]",
        "[*waiting, *blocked, *unknown]",
        "the reason of what a person must act on is hidden behind what only waits",
    ),
    _conditions(
        "parts_deleting",
        ' and row.get("state") != "Kept"',
        "",
        "what is kept is told as being deleted",
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
        "ready is taken back at the first hiccup, and Cluster API begins anew",
    ),
    _status(
        "build_status",
        'status["identity"] = dict(identity.in_status(raw, report.journal))',
        "pass",
        "a lost annotation can never be restored",
    ),
    _status(
        "_observe",
        'if ready.status == "True" and not (_host(raw) or endpoint):',
        "if False:",
        "the cluster is ready without an endpoint",
    ),
    _status(
        "_endpoint",
        "if _host(raw) or not hostname:",
        "if not hostname:",
        "an endpoint that somebody set is overwritten",
    ),
    _status(
        "_endpoint",
        '"port": given or plan.port',
        '"port": plan.port',
        "the port that somebody set is overwritten",
    ),
    _discover(
        "discover",
        "frozen = journal is not None and bool(journal.ours)",
        "frozen = False",
        "an object that owns something and lost its annotation is read as one that only uses what exists",
    ),
    _any_status(
        "updated",
        "if observations[0].type != names.PAUSED:",
        "if True:",
        "a paused object says that its newest spec was looked at",
    ),
    _any_status(
        "updated",
        'StatusUpdate(status, spec, status != (raw.get("status") or {}))',
        "StatusUpdate(status, spec, True)",
        "each pass writes a status although nothing changed",
    ),
    _status(
        "_Fields.single",
        'ownership(entry, self.report.outcomes.get(key)) in ("managed", "shared")',
        "True",
        "what existed before is told as created by us, and upstream's tools delete it",
    ),
    _table(
        "ownership",
        "if entry and entry.phase.ours:",
        "if entry:",
        "what existed before is told as managed",
    ),
    _table(
        "_gone",
        'if row.get("state") == "Kept":',
        "if False:",
        "what is kept is told as gone",
    ),
    _table(
        "_since",
        'before.get("state") == row.get("state")',
        "False",
        "since moves at each pass, and each pass writes a status",
    ),
)

MUTANTS = (*GATE, *IDENTITY, *KEYS, *WANTED, *STATUS)
