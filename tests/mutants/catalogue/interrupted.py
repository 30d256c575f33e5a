"""Safety lines of what is shown to a person about a create that was cut off, and of what may be decided by it."""

from functools import partial

from mutants.rows import Mutant

_interrupted = partial(Mutant, "lifecycle/phases/interrupted.py")
_intents = partial(Mutant, "lifecycle/phases/intents.py")
_vpc = partial(Mutant, "clouds/aws/kinds/vpc.py")
_gateway = partial(Mutant, "clouds/aws/kinds/internet_gateway.py")
_address = partial(Mutant, "clouds/aws/kinds/elastic_ip.py")

MUTANTS = (
    _interrupted(
        "claimed_by",
        "if objects:",
        "if False:",
        "what another object has on record is marked as ours, and deleted with it",
    ),
    _interrupted(
        "claimed_by",
        'return f"a mark of uuid {\', \'.join(others)} on {seen.target}" if others else ""',
        'return ""',
        "what another owner marked on a shared carrier is deleted with ours",
    ),
    _interrupted(
        "candidates",
        "of_node or await untagged(ctx, key, entry)",
        "of_node",
        "what has lost its tags is named, and cannot be called ours",
    ),
    _interrupted(
        "untagged",
        "if (key.kind, each.id) not in recorded",
        "if True",
        "what is on record for another node is offered as what a create has made",
    ),
    _interrupted(
        "untagged",
        "if not await ctx.deps.others.owning(ctx.owner, key.kind, each.id)",
        "if True",
        "what another object has on record is offered as ours",
    ),
    _intents(
        "_without_token",
        "(why := await _untagged(ctx, key, entry))",
        "(why := None)",
        "a second VPC is made, and the first, which somebody stripped, is an orphan that nobody is told of",
    ),
    _intents(
        "_without_token",
        "ctx.settled(key, earliest(ctx.node(key).open_since, ctx.now)) and ",
        "",
        "a person is asked about others' resources before the create has had its time to show",
    ),
    _intents(
        "_untagged",
        "return of_error(error)",
        "return None",
        "a list that could not be read counts as an empty one, and a second resource is made",
    ),
    _vpc(
        "VpcDriver.untagged",
        "if not seen.tags}",
        "}",
        "a VPC with tags, which somebody's are, stops a create",
    ),
    _vpc(
        "VpcDriver.untagged",
        'free.pop(row["VpcId"], None)',
        "pass",
        "a VPC in use stops a create",
    ),
    _gateway(
        "InternetGatewayDriver.untagged",
        "if not (seen.tags or seen.parts)",
        "if not seen.tags",
        "a gateway in use stops a create",
    ),
    _gateway(
        "InternetGatewayDriver.untagged",
        "if not (seen.tags or seen.parts)",
        "if not seen.parts",
        "a gateway with tags, which somebody's are, stops a create",
    ),
    _address(
        "ElasticIpDriver.untagged",
        'if not (seen.tags or seen.attributes["association"])',
        "if not seen.tags",
        "an address in use stops a create",
    ),
    _address(
        "ElasticIpDriver.untagged",
        'if not (seen.tags or seen.attributes["association"])',
        'if not seen.attributes["association"]',
        "an address with tags, which somebody's are, stops a create",
    ),
)
