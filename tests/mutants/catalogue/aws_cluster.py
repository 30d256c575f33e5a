"""Safety lines of AWSCluster: clusters of the same name, facts that must be in, nodes that wait for others, tags."""

from functools import partial

from mutants.rows import Mutant

_namesakes = partial(Mutant, "providers/aws/cluster/name_conflicts.py")
_discover = partial(Mutant, "providers/aws/cluster/discover.py")
_desired = partial(Mutant, "providers/aws/cluster/desired.py")
_decide = partial(Mutant, "providers/aws/cluster/desired.py")
_given = partial(Mutant, "providers/aws/cluster/given_checks.py")
_balancers = partial(Mutant, "providers/aws/cluster/balancer_checks.py")
_fronts = partial(Mutant, "providers/aws/cluster/load_balancers.py")
_network = partial(Mutant, "providers/aws/cluster/network_checks.py")
_adapter = partial(Mutant, "providers/aws/cluster/adapter.py")
_groups = partial(Mutant, "providers/aws/cluster/nodes/groups.py")
_routing = partial(Mutant, "providers/aws/cluster/nodes/routing.py")
_machines = partial(Mutant, "providers/aws/cluster/nodes/machines.py")
_tags = partial(Mutant, "providers/aws/cluster/nodes/tags.py")
_bucket = partial(Mutant, "providers/aws/kinds/s3_bucket.py")
_facts = partial(Mutant, "providers/aws/facts.py")
_cluster_status = partial(Mutant, "providers/objects/cluster_status.py")
_rules = partial(Mutant, "providers/aws/cluster/rules.py")
_network_input = partial(Mutant, "providers/aws/cluster/network_checks.py")
_status = partial(Mutant, "providers/aws/cluster/status.py")

_reconciler = partial(Mutant, "controllers/reconciler.py")
_given_nodes = partial(Mutant, "providers/aws/cluster/nodes/given.py")

_identities = partial(Mutant, "providers/aws/cluster/identities.py")

IDENTITIES = (
    _identities(
        "may_use",
        "if allowed is not None and (_is_open(allowed)",
        "if allowed is None or (_is_open(allowed)",
        "an identity that allows nobody hands its account to every namespace",
    ),
    _identities(
        "_is_open",
        "allowed.names is None and ",
        "",
        "an identity that names its namespaces is open to all of them",
    ),
    _identities(
        "_is_open",
        " and allowed.selector is None",
        "",
        "an identity that selects its namespaces is open to all of them",
    ),
    _identities(
        "_names",
        "namespace in (allowed.names or ())",
        "any(namespace.startswith(name) for name in allowed.names or ())",
        "a namespace whose name begins like an allowed one uses the identity",
    ),
    _identities(
        "_selects",
        " or not (selector.match_labels or selector.match_expressions)",
        "",
        "an empty selector, which upstream takes for none, selects every namespace",
    ),
    _identities(
        "_selects",
        "equal = all(",
        "equal = any(",
        "a namespace with one of the labels uses an identity that asks for all of them",
    ),
    _identities(
        "_selects",
        "return equal and all(",
        "return equal or all(",
        "of labels and expressions one is enough",
    ),
    _identities(
        "_holds",
        "return False",
        "return True",
        "an operator that nobody knows selects every namespace",
    ),
)

MUTANTS = (
    *IDENTITIES,
    _reconciler(
        "Reconciler._ensure",
        "known.state.minted = False",
        "pass",
        "an object that is restored with its UID from before its first pass makes everything a second time",
    ),
    _discover(
        "discover",
        " if each.uuid != journal.owner.uuid",
        "",
        "an object that is restored from before its first pass is stopped by its own resources",
    ),
    _given(
        "_moved",
        'if recorded.vpc and vpc not in ("", recorded.vpc):',
        "if False:",
        "a cluster whose spec names another VPC gets its tags and load balancer there, and its own VPC is pruned",
    ),
    _given(
        "_moved",
        "elif recorded.given_vpc and vpc != recorded.given_vpc:",
        "elif False:",
        "a cluster whose given VPC is taken out of the spec is made a second time beside its groups and load balancer",
    ),
    _given_nodes(
        "given_node",
        "user_tagged=bool(tags)",
        "user_tagged=True",
        "the user's tags are put on a VPC and on groups of somebody else's, which upstream leaves alone",
    ),
    _namesakes(
        "refuse_taken_name",
        " and UUID.fullmatch(uuid := uuids.pop()):",
        " and (uuid := uuids.pop()):",
        "the text of a stranger's tag is part of a command that a person is told to run",
    ),
    _balancers(
        "_ports",
        'taken = {api_port: "the API server\'s"}',
        "taken = {}",
        "two resources of one name are wanted, and no reconcile of the object gets anywhere",
    ),
    _balancers(
        "_behind_endpoint",
        "if key_of(there, PRIMARY) in recorded.balancers:",
        "if False:",
        "the rules of the load balancer that is the endpoint are taken away at once",
    ),
    _status(
        "_is_address_of",
        "is_address_of(host, each)",
        "False",
        "a cluster is ready at whose endpoint nobody answers, where that was so before the endpoint was recorded",
    ),
    _fronts(
        "Front._placed",
        "if each.logical in held:",
        "if False:",
        "one more subnet in a zone moves a load balancer, and its addresses change",
    ),
    _network(
        "_Listed._place",
        "(slot.public, slot.zone) if slot else",
        "(True, slot.zone) if slot else",
        "a load balancer is taken out of every subnet but one",
    ),
    _network(
        "_Listed._one_subnet_twice",
        "if self.subnets[first].id != each.id:",
        "if False:",
        "two resources of one name are wanted, and no reconcile of the object gets anywhere",
    ),
    _namesakes(
        "refuse_taken_name",
        "if not found or",
        "if True or",
        "beside another cluster of the name resources are created, and CAPA's collector deletes one for the other",
    ),
    _namesakes(
        "_is_users",
        " or not each.by_cloud_provider",
        "",
        "a cluster is made in the network that a CAPA of another place deletes with its cluster",
    ),
    _namesakes(
        "_is_users",
        "(arn.type in _OF_A_NETWORK or arn.id in network.subnets)",
        "True",
        "in a given VPC a cluster of the same name is made beside another one, whose controller deletes its parts",
    ),
    _namesakes(
        "_is_users",
        "arn.id in given or",
        "False or",
        "a cluster is refused because of a group of the user's that is tagged as the cloud controller asks for",
    ),
    _discover(
        "discover",
        "None if deleting or journal.ours else",
        "None if deleting else",
        "whoever may tag stops the healing of a cluster that is there",
    ),
    _discover(
        "discover",
        "None if deleting or journal.ours else",
        "None if journal.ours else",
        "a cluster of the same name holds a delete",
    ),
    _discover(
        "discover",
        "None if deleting and isinstance(zones, NoAnswer) else zones",
        "zones",
        "a delete that has deleted everything never ends where zones may not be listed",
    ),
    _namesakes(
        "refuse_taken_name",
        " or facts.known_before",
        "",
        "a restored object refuses its own cluster because of its machines, and recovers nothing",
    ),
    Mutant(
        "providers/aws/cluster/recorded.py",
        "name_of",
        "recorded_in(record).cluster or ",
        "",
        "a label gives a live cluster the tags of another one, whose collector then deletes it",
    ),
    _bucket(
        "policy",
        "behavior=digest(documents.policy(document))",
        'behavior=""',
        "a profile that the spec names no more goes on reading bootstrap data",
    ),
    _machines(
        "bastion_nodes",
        "if plan.bastion and plan.bastion.subnet:",
        "if cluster_plan.bastion:",
        "the delete of a cluster whose subnets are on no record fails at each pass",
    ),
    _cluster_status(
        "_endpoint",
        '{"host": hostname, "port": plan.port}',
        '{"host": hostname, "port": (raw["spec"].get("controlPlaneEndpoint") or {}).get("port") or plan.port}',
        "the endpoint of a Ready cluster has a port on which nothing listens",
    ),
    _rules(
        "Firewall._inside",
        "(self.vpc.cidr, *self.vpc.secondary)",
        "(self.vpc.cidr,)",
        "a network load balancer in a secondary range reaches no machine",
    ),
    _rules(
        "Firewall._api_ports",
        "{self.port, endpoint.port} if endpoint",
        "{self.port} if endpoint",
        "when the port of the Cluster changes, the endpoint of a Ready cluster is shut",
    ),
    _cluster_status(
        "_observe",
        "for line in unknown.values()",
        "for line in ()",
        "a delete that waits for an answer says nothing",
    ),
    _network_input(
        "_Listed._zone",
        " and not self._is_on_record(subnet)",
        "",
        "while one zone is out of order nothing is healed in the others",
    ),
    _discover(
        "_needs_image",
        "and not (there and there.id)",
        "",
        "a newer image is asked for at each pass, and a refusal of it stops a cluster that has its bastion",
    ),
    _desired(
        "wanted",
        "if cluster_plan.vpc.given and facts.network is None:",
        "if False:",
        "nodes are made for a given VPC of which nothing is known",
    ),
    _desired(
        "wanted",
        "if isinstance(taken, NoAnswer):",
        "if False:",
        "resources are created although nobody could tell whether the name is free",
    ),
    _decide(
        "decide",
        "if missing := {field: answer for field, answer in asked.items() if isinstance(answer, NoAnswer)}:",
        "if missing := {}:",
        "a cluster is created from answers that are missing",
    ),
    _given(
        "_subnets",
        "if is_aws_id(each.id) and found is None:",
        "if False:",
        "subnets of a stranger's VPC are used beside the given one",
    ),
    _adapter(
        "AWSClusterAdapter.desired",
        "name_of(raw, journal.entries)",
        "proceed.cluster",
        "a delete looks for strays under another name than the create gave them",
    ),
    _adapter(
        "AWSClusterAdapter._has_storage",
        " or BUCKET in journal.ours",
        "",
        "a bucket becomes surplus when the operator is started without its gate",
    ),
    _groups(
        "group_nodes",
        "_own(key, group, (), addresses, tags)",
        "_own(key, group, _rules(group, wish), addresses, tags)",
        "rules are wanted in the group that the cloud controller manages",
    ),
    _groups(
        "_refused_tags",
        "if group.role is Role.LB else frozenset({cloud_provider_key(tags.cluster)})",
        "",
        "a tag of the user's makes the cloud controller find five groups, and it serves no load balancer",
    ),
    _groups(
        "_handed_over",
        "shared=True",
        "shared=False",
        "rules of the cloud controller are taken out of the group for Services",
    ),
    _groups(
        "_own",
        "parts_require=frozenset(_named(rules, addresses))",
        "parts_require=frozenset()",
        "a rule is made of the id of a group that is not there yet",
    ),
    _routing(
        "_nat_gateway",
        "keys.INTERNET_GATEWAY, subnet, address",
        "subnet, address",
        "a NAT gateway is created before the internet gateway, fails, and is billed",
    ),
    _machines(
        "_bastion",
        '(there and there.attributes.get("image_id")) or newest',
        "newest",
        "a bastion is reported as drifted whenever Ubuntu has a new image",
    ),
    _tags(
        "NodeTags._own",
        "if self.renamed:",
        "if False:",
        "our Name fights with the user's at each pass",
    ),
    _facts(
        "AwsFacts.namesakes",
        "if not _comes_along(arn)",
        "",
        "with the journal lost, the volume of our own bastion stops the cluster",
    ),
    Mutant(
        "providers/aws/cluster/desired.py",
        "wanted",
        "if found_graph.holds_name:",
        "if False:",
        "a living cluster of which everything is given is told to delete its own load balancers",
    ),
    Mutant(
        "providers/aws/cluster/desired.py",
        "wanted",
        "facts.recorded.anything and ",
        "",
        "a new cluster of which everything is given does not hear of another one of its name",
    ),
    Mutant(
        "providers/aws/cluster/desired.py",
        "_lives_on_what_is_given",
        "ready or ",
        "",
        "a living cluster of which everything was given can never make anything of its own",
    ),
    Mutant(
        "controllers/name_claims.py",
        "_has_records",
        "journal.begun",
        "bool(journal.ours)",
        "an idle older object takes the name of a living cluster of which everything is given",
    ),
    Mutant(
        "controllers/name_claims.py",
        "NameClaims._name",
        "journal.entries if journal else {}",
        "{}",
        "a cluster that a label names otherwise now keeps that name from another one",
    ),
    Mutant(
        "controllers/reconciler.py",
        "Reconciler._unless_taken",
        " or plan.holds_name",
        "",
        "a living cluster of which everything is given is stopped by an older object of its name",
    ),
    Mutant(
        "providers/aws/facts.py",
        "AwsFacts._zone_types",
        "except CloudError:",
        "except ZeroDivisionError:",
        "a delete in a given VPC waits for ever for a permission that it does not need",
    ),
    _facts(
        "AwsFacts._named",
        "self._tags.with_tag(keys[1], [Lifecycle.OWNED.value]),",
        "",
        "beside a cluster of another tool resources are created, and each cloud controller takes what the other has",
    ),
    _facts(
        "AwsFacts._named",
        'NativeTags(self._client).of_ec2(f"of cluster {cluster}", [{"Name": "key", "Values": keys}]),',
        "",
        "an object that is restored within seconds of its first pass makes everything twice",
    ),
    _facts(
        "AwsFacts._named",
        "raise answer",
        "continue",
        "resources are created although only half of the question whether the name is free was answered",
    ),
    _facts(
        "_is_named",
        " == Lifecycle.OWNED.value",
        "",
        "a network that is tagged as shared goes on stopping the cluster that is to use it",
    ),
    _facts(
        "AwsFacts._there",
        "if arn not in ended",
        "",
        "a cluster cannot be created within an hour after one of its name was deleted",
    ),
    _status(
        "_Fields.failure_domains",
        "if each.zone in there",
        "",
        "machines are placed in a zone that has no subnet yet",
    ),
)
