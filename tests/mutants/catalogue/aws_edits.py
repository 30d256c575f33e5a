"""Safety lines about an AWSCluster that is edited, and about two of one name."""

from functools import partial

from mutants.rows import Mutant

_family = partial(Mutant, "providers/aws/cluster/given_checks.py")
_discover = partial(Mutant, "providers/aws/cluster/discover.py")
_recorded = partial(Mutant, "providers/aws/cluster/recorded.py")
_machines = partial(Mutant, "providers/aws/cluster/nodes/machines.py")
_claims = partial(Mutant, "controllers/name_claims.py")
_reconciler = partial(Mutant, "controllers/reconciler.py")
_decide = partial(Mutant, "providers/aws/cluster/desired.py")

MUTANTS = (
    _machines(
        "_bastion",
        '"key_name": bastion.key_name,',
        '**({"key_name": bastion.key_name} if bastion.key_name else {}),',
        "a bastion keeps a key that its spec has taken away, and nobody is told",
    ),
    _reconciler(
        "Reconciler._unless_taken",
        "return plan if holder is None else self._claims.refused(raw, journal.account, holder, plan)",
        "return plan",
        "two objects of one name make two clusters that CAPA and the cloud controller take for one",
        killed_by="tests/unit/controllers/test_controllers_name_claims.py"
        "::test_of_two_objects_that_are_applied_together_one_makes_a_cluster",
    ),
    _reconciler(
        "Reconciler._unless_taken",
        " or journal.ours",
        "",
        "an older object that is unpaused stops the healing of a living cluster",
    ),
    _reconciler(
        "Reconciler._unless_taken",
        " or plan.known_before",
        "",
        "an object that was restored is stopped by one that its own resources stop",
    ),
    _claims(
        "NameClaims.holder",
        "not _has_records(each), ",
        "",
        "an older object takes the name from a living cluster",
    ),
    _claims(
        "NameClaims.holder",
        "self._begun[account, name] = ",
        "_ = ",
        "of two objects of one second both begin: the record of the first is not seen yet",
    ),
    _claims(
        "NameClaims.holder",
        "if places[key_of(each)] == account",
        "if True",
        "a cluster in another region or account takes the name",
    ),
    _claims(
        "NameClaims.holder",
        "while unplaced := [each for each in others if key_of(each) not in places]:",
        "if unplaced := [each for each in others if key_of(each) not in places]:",
        "an object that appears while accounts are asked for is a defect",
    ),
    _claims(
        "NameClaims.holder",
        "await self._read()",
        "pass",
        "a plan says that a cluster can begin whose name another object has",
    ),
    _claims(
        "_counts",
        'return not metadata.get("deletionTimestamp") or _has_records(raw)',
        "return True",
        "an object that goes and has nothing keeps the name until it has gone",
    ),
    _family(
        "check_families",
        "if facts.recorded.ipv6 and vpc.ipv6 is None:",
        "if False:",
        "blocks and routes of IPv6 go, and the load balancer and its target groups keep the family",
        killed_by="tests/unit/aws_cluster/test_aws_cluster_family.py"
        "::test_what_the_record_and_the_cloud_tell_of_its_own_vpc_is_kept",
    ),
    _family(
        "check_families",
        "elif vpc.ipv6 is not None and facts.own_vpc_has_ipv6 == Answer(False):",
        "elif False:",
        "subnets and rules get IPv6, and the load balancer never does",
    ),
    _family(
        "check_families",
        "if not own or (vpc.id and vpc.id != own):",
        "if vpc.id and vpc.id != own:",
        "an edit before anything is there is refused",
        equivalent="without a VPC of its own nothing is on record, and nothing is asked",
    ),
    _recorded(
        "recorded_in",
        "ipv6=EGRESS_GATEWAY in own",
        "ipv6=EGRESS_GATEWAY in record",
        "an egress-only gateway that came to nothing counts as made",
    ),
    _discover(
        "_family",
        "or recorded.ipv6 ",
        "",
        "the VPC of each cluster with IPv6 is asked for at each pass, beside the look at it",
    ),
    _discover(
        "discover",
        "None if deleting else await _family(reader, spec, recorded)",
        "await _family(reader, spec, recorded)",
        "a delete waits for an answer that it does not need",
    ),
    _decide(
        "decide",
        '"spec.network.vpc.ipv6": facts.own_vpc_has_ipv6,',
        "",
        "IPv6 is added to a living cluster while the cloud does not answer",
    ),
)
