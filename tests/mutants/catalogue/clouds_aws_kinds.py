"""Safety lines of groups, endpoints, load balancers, buckets and instances on AWS, and of parts in one call."""

from functools import partial

from mutants.rows import Mutant

_group = partial(Mutant, "clouds/aws/kinds/security_group.py")
_endpoint = partial(Mutant, "clouds/aws/kinds/vpc_endpoint.py")
_balancing = partial(Mutant, "clouds/aws/balancing_driver.py")
_classic = partial(Mutant, "clouds/aws/kinds/classic_load_balancer.py")
_listener = partial(Mutant, "clouds/aws/kinds/listener.py")
_target_group = partial(Mutant, "clouds/aws/kinds/target_group.py")
_bucket = partial(Mutant, "clouds/aws/kinds/s3_bucket.py")
_instance = partial(Mutant, "clouds/aws/kinds/instance.py")
_seldom = partial(Mutant, "clouds/aws/seldom.py")
_calls = partial(Mutant, "clouds/aws/calls.py")

MUTANTS = (
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
