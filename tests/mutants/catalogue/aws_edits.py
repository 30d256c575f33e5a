"""Safety lines about an AWSCluster that is edited, and about two of one name."""

from functools import partial

from mutants.rows import Mutant

_family = partial(Mutant, "reconcilers/aws_cluster/family_input.py")
_discover = partial(Mutant, "reconcilers/aws_cluster/discover.py")
_recorded = partial(Mutant, "reconcilers/aws_cluster/recorded.py")
_decide = partial(Mutant, "reconcilers/aws_cluster/decide.py")

MUTANTS = (
    _family(
        "check",
        "if facts.recorded.ipv6 and vpc.ipv6 is None:",
        "if False:",
        "blocks and routes of IPv6 go, and the load balancer and its target groups keep the family",
        killed_by="tests/unit/reconcilers/test_reconcilers_aws_family.py"
        "::test_what_the_record_and_the_cloud_tell_of_its_own_vpc_is_kept",
    ),
    _family(
        "check",
        "elif vpc.ipv6 is not None and facts.own_vpc_has_ipv6 == Answer(False):",
        "elif False:",
        "subnets and rules get IPv6, and the load balancer never does",
    ),
    _family(
        "check",
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
        "_family",
        " or is_planned(recorded.vpc)",
        "",
        "a plan asks AWS for a VPC that it has made up",
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
