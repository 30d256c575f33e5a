"""Safety lines of groups, endpoints, load balancers, buckets and instances on AWS, and of parts in one call."""

from functools import partial

from mutants.rows import Mutant

_group = partial(Mutant, "providers/aws/kinds/security_group.py")
_endpoint = partial(Mutant, "providers/aws/kinds/vpc_endpoint.py")
_balancing = partial(Mutant, "providers/aws/balancing_driver.py")
_classic = partial(Mutant, "providers/aws/kinds/classic_load_balancer.py")
_listener = partial(Mutant, "providers/aws/kinds/listener.py")
_target_group = partial(Mutant, "providers/aws/kinds/target_group.py")
_bucket = partial(Mutant, "providers/aws/kinds/s3_bucket.py")
_instance = partial(Mutant, "providers/aws/kinds/instance.py")
_seldom = partial(Mutant, "providers/aws/attribute_cache.py")
_calls = partial(Mutant, "providers/aws/calls.py")
_network = partial(Mutant, "providers/aws/kinds/network_load_balancer.py")
_egress = partial(Mutant, "providers/aws/kinds/egress_only_gateway.py")
_traits = partial(Mutant, "providers/aws/kind_defaults.py")
_arn = partial(Mutant, "providers/aws/arn.py")

ANSWERING = ("network_load_balancer", "target_group", "listener", "s3_bucket")
AT_ONCE = (
    "vpc", "subnet", "internet_gateway", "elastic_ip", "route_table", "security_group", "classic_load_balancer",
    "network_load_balancer", "target_group", "listener", "s3_bucket",
)  # fmt: skip

FLAGS = (
    *(
        Mutant(
            f"providers/aws/kinds/{file}.py",
            "kind",
            "answers_existing=True",
            "answers_existing=False",
            "the reply about a stranger's resource of the same name is recorded as ours",
        )
        for file in ANSWERING
    ),
    *(
        Mutant(
            f"providers/aws/kinds/{file}.py",
            "kind",
            "id_returns=True",
            "id_returns=False",
            "what a stranger makes under a name that was ours is taken for ours, and deleted",
        )
        for file in ("classic_load_balancer", "s3_bucket")
    ),
    *(
        Mutant(
            f"providers/aws/kinds/{file}.py",
            "kind",
            "gone_at_once=True",
            "gone_at_once=False",
            "a delete that is done is waited for, and what it was in stands a round longer",
        )
        for file in AT_ONCE
    ),
    *(
        Mutant(
            f"providers/aws/kinds/{file}.py",
            "kind",
            "listing=driver",
            "listing=driver, gone_at_once=True",
            "what is still being deleted counts as gone, and its object is let go",
        )
        for file in ("nat_gateway", "instance")
    ),
    _traits(
        "_dedupe",
        "if facts.token_in:",
        "if False:",
        "a create that may have had its effect is not repeated under its token",
    ),
    _traits(
        "_dedupe",
        "return Dedupe.KEY if facts.natural_key else Dedupe.NONCE",
        "return Dedupe.NONCE",
        "of a kind whose name is taken once only, a second create is expected to make a second one",
    ),
    _traits(
        "_dedupe",
        "return Dedupe.KEY if facts.natural_key else Dedupe.NONCE",
        "return Dedupe.KEY",
        "a VPC that a lost create made is looked for by a name that proves nothing",
    ),
    _traits(
        "aws_kind",
        "tagging=Tagging.ON_CREATE",
        "tagging=Tagging.AFTER",
        "a resource without marks is expected after a create, though none can come of one",
    ),
    _traits(
        "aws_kind",
        "settle=SETTLE",
        "settle=SETTLE / 4",
        "a create that may yet take effect is sent a second time",
    ),
    _traits(
        "aws_kind",
        "token_life=TOKEN_LIFE",
        "token_life=24 * TOKEN_LIFE",
        "a token is trusted for longer than AWS is known to remember it",
    ),
)

REST = (
    _network(
        "decode",
        "_STATES.get(word, State.PENDING)",
        "_STATES.get(word, State.READY)",
        "a load balancer in a state that nobody knows counts as ready, and its address as the endpoint",
    ),
    _network(
        "NetworkLoadBalancerDriver.create",
        "Tags=birth_tags.as_list(birth)",
        "Tags=[]",
        "a create that was cut off leaves a load balancer without marks",
    ),
    *(
        Mutant(
            f"providers/aws/kinds/{file}.py",
            f"{driver}.create",
            "await place_of(self._client)",
            "pass",
            "a read that fails after the write makes a create that had its effect look like a refused one",
        )
        for file, driver in (
            ("network_load_balancer", "NetworkLoadBalancerDriver"),
            ("target_group", "TargetGroupDriver"),
            ("listener", "ListenerDriver"),
        )
    ),
    _network(
        "NetworkLoadBalancerDriver.create",
        ", birth, AT_BIRTH)",
        ', birth, {"attributes": {"load_balancing.cross_zone.enabled": "true"}})',
        "what AWS gives to a new one is not what is compared, and is never brought to the spec",
    ),
    _network(
        "NetworkLoadBalancerDriver.identify",
        '"loadbalancer/net"',
        '"loadbalancer"',
        "with the journal lost an application load balancer is taken for the cluster's own",
    ),
    _network(
        "NetworkLoadBalancerDriver.users",
        "return sorted(",
        "return sorted(()) if ref else sorted(",
        "a load balancer with machines behind it is pruned, and nobody is told",
    ),
    _network(
        "NetworkLoadBalancerDriver.remains",
        'return await holders.interfaces_of_balancer(self._client, ref.id.partition("loadbalancer/")[2])',
        "return ()",
        "what its interfaces still hold is tried again and again for minutes",
    ),
    _egress(
        "decode",
        "State.READY if attached else State.DELETING",
        "State.READY",
        "a gateway that is being detached counts as one that routes can lead to",
    ),
    _egress(
        "decode",
        '("detaching", "detached")',
        "()",
        "a gateway that is being detached counts as attached",
    ),
    _egress(
        "EgressOnlyGatewayDriver.users",
        'return await self._routes_to(ref, "route.egress-only-internet-gateway-id")',
        "return ()",
        "a gateway that somebody's route leads to is pruned, and the route is a black hole",
    ),
    _arn(
        "Arn.parse",
        "_ARN.fullmatch(text)",
        "_ARN.search(text)",
        "text that a person wrote before an ARN passes for part of it",
    ),
    _arn(
        "_ARN",
        r"(\d{12}|)",
        r"(\d*)",
        "an account that is none passes for one",
    ),
    _arn(
        "Arn.type",
        'return head if slash else ""',
        "return head",
        "a bucket named like a type of resource passes for one of that type",
    ),
)

MUTANTS = (
    *FLAGS,
    *REST,
    _classic(
        "ClassicLoadBalancerDriver._enter",
        'await self._change(ref, "detach_load_balancer_from_subnets", Subnets=[old])',
        "pass",
        "a load balancer never goes into another subnet of its zone",
    ),
    _group(
        "SecurityGroupDriver._fits",
        "(same_vpc and seen.name == want.name)",
        "seen.name == want.name",
        "a group of the same name in another VPC keeps ours from being made",
    ),
    _group(
        "SecurityGroupDriver.remove_parts",
        "if missing.code != _NO_SUCH_RULE:",
        "if False:",
        "a group that has gone looks like rules that are gone",
    ),
    _group(
        "SecurityGroupDriver.add_parts",
        "for part in some if len(some) > 1 else ():",
        "for part in ():",
        "one rule that is there keeps all others out",
    ),
    _endpoint(
        "VpcEndpointDriver.delete",
        'for row in body.get("Unsuccessful", ()):',
        "for row in ():",
        "a delete that failed within a successful reply counts as done",
    ),
    _balancing(
        "BalancingDriver._answered",
        " and birth_tags.is_born(tagged.tags, (birth.nonce,))",
        "",
        "a stranger's load balancer counts as new and as AWS makes one",
    ),
    _balancing(
        "BalancingDriver._changing",
        "        seldom.forget(ident)\n",
        "",
        "a change whose reply was lost is not looked for",
    ),
    _balancing(
        "BalancingDriver._answered",
        "return self._untagged(seen)",
        "return self._shown(seen)",
        "a reply whose tags could not be read counts as a resource without tags",
    ),
    _balancing(
        "BalancingDriver._untagged",
        "tags=None",
        "tags=frozenset()",
        "a list that shows no tags counts as a resource without tags",
    ),
    _classic(
        "ClassicLoadBalancerDriver.identify",
        ' and "/" not in arn.id',
        "",
        "a network load balancer is taken for a classic one",
    ),
    _listener(
        "_fits",
        'if seen.attributes["balancer"] != want.request["balancer"]:',
        "if False:",
        "the listener of another load balancer is taken for a namesake",
    ),
    _listener(
        "ListenerDriver._inside",
        "return await balancing.every_listener(self._client, READ, balancer)",
        "return await balancing.listeners_of(self._client, READ, balancer)",
        "a load balancer that is not shown counts as one without listeners",
    ),
    _target_group(
        "TargetGroupDriver._shown",
        "parts=None",
        "parts=frozenset()",
        "a target group whose targets were not read counts as empty",
    ),
    _bucket(
        "_read",
        "if missing.code in absent:",
        "if True:",
        "a 404 that S3 did not send makes a bucket look gone",
    ),
    _bucket(
        "S3BucketDriver._of_this_account",
        'if name in {row["Name"] for row in own}:',
        "if False:",
        "a bucket of ours that we may not read counts as somebody else's",
    ),
    _instance(
        "InstanceDriver.create",
        'or decode({**row, "State": {"Name": "shutting-down"}}, place)',
        "",
        "the answer of a token whose instance has been terminated is a defect",
    ),
    _seldom(
        "Seldom._is_fresh",
        "0 <= self._now() - taken",
        "self._now() - taken",
        "after the clock went back a reading counts for longer than an hour",
    ),
    _calls(
        "ApiClient._call",
        "hidden=hidden",
        "hidden=()",
        "user data that AWS repeats gets into a condition",
    ),
)
