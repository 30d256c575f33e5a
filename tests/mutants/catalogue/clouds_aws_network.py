"""Safety lines of AWS's network kinds: creates, searches for what was born of ours, parts, what refuses a delete."""

from functools import partial

from mutants.rows import Mutant

_ec2 = partial(Mutant, "providers/aws/ec2.py")
_birth_tags = partial(Mutant, "providers/aws/tags/birth_tags.py")
_holders = partial(Mutant, "providers/aws/delete_blockers.py")
_vpc = partial(Mutant, "providers/aws/kinds/vpc.py")
_subnet = partial(Mutant, "providers/aws/kinds/subnet.py")
_gateway = partial(Mutant, "providers/aws/kinds/internet_gateway.py")
_table = partial(Mutant, "providers/aws/kinds/route_table.py")
_nat = partial(Mutant, "providers/aws/kinds/nat_gateway.py")
_address = partial(Mutant, "providers/aws/kinds/elastic_ip.py")

MUTANTS = (
    _nat(
        "NatGatewayDriver._is_over",
        "seen.state is State.FAILED and seen.id in self._deleted",
        "False",
        "a NAT gateway that has failed holds the delete of its cluster for an hour",
    ),
    _nat(
        "NatGatewayDriver._is_over",
        " and seen.id in self._deleted",
        "",
        "a NAT gateway that has failed is forgotten without a delete, and made again each time",
    ),
    _nat(
        "NatGatewayDriver._is_over",
        "seen.state is State.FAILED and ",
        "",
        "a NAT gateway that is being deleted counts as gone while it holds its address and subnet",
    ),
    _subnet(
        "SubnetDriver.create",
        "raise NotReady(message, code=refused.code, request_id=refused.request_id) from refused",
        "raise",
        "a subnet in a range that is being added waits for a person",
    ),
    _subnet(
        "SubnetDriver.create",
        "raise await self._taken(request, refused) from refused",
        "raise",
        "nobody is told which subnet has the block",
    ),
    _ec2(
        "Ec2Driver.create",
        "params[facts.token_in] = birth.token",
        'params[facts.token_in] = "one-for-all"',
        "two creates of a kind answer with one resource, or a repeat makes a second one",
    ),
    _ec2(
        "Ec2Driver.create",
        '"TagSpecifications": birth_tags.specified(birth, facts.tag_type)',
        '"TagSpecifications": []',
        "a create that was cut off leaves a resource without marks",
    ),
    _ec2(
        "Ec2Driver.create",
        ' or shape.read.decode({**row, "State": "deleting"}, place)',
        "",
        "a token that names what has gone ends the pass with a defect",
    ),
    _ec2(
        "Ec2Driver.by_nonce",
        "await self._all_exist(home, homes - {str(seen.attributes[home.attribute]) for seen in born})",
        "pass",
        "a VPC that a replica does not show counts as empty, and the object is released",
    ),
    _ec2(
        "Ec2Driver._fits",
        "return in_scope and birth_tags.is_born(seen.tags, want.nonces)",
        "return in_scope",
        "anything with a birth tag in the same VPC is taken for ours",
    ),
    _ec2(
        "Ec2Driver._fits",
        "return in_scope and birth_tags.is_born(seen.tags, want.nonces)",
        "return birth_tags.is_born(seen.tags, want.nonces)",
        "a birth tag that somebody copied to another VPC makes a create ambiguous",
    ),
    _ec2(
        "Ec2Driver._add",
        "if there is None or there.behavior != part.behavior:",
        "if there is None:",
        "a route of somebody else to another place counts as ours",
    ),
    _ec2(
        "Ec2Driver._add",
        "if there is None or there.behavior != part.behavior:",
        "if there is not None and there.behavior != part.behavior:",
        "a part that was refused counts as added",
    ),
    _ec2(
        "Ec2Driver._remove",
        "with suppress(NotFound):",
        "with suppress():",
        "a part that is gone already holds a delete for ever",
    ),
    _ec2(
        "Ec2Driver.identify",
        'is_this = arn and not carried and arn.service == "ec2" and arn.type == self._facts.arn_type',
        "is_this = arn and not carried",
        "a mark on another kind of resource is read as that of this kind",
    ),
    _birth_tags(
        "is_born",
        "return BIRTH in tags and tags[BIRTH] in nonces",
        "return BIRTH in tags",
        "a create of anybody is taken for ours",
    ),
    _holders(
        "inside_vpc",
        'any(each.get("VpcId") == vpc for each in row.get("Attachments", ()))',
        "False",
        "a stranger's egress-only gateway holds our VPC, and nobody is told which",
    ),
    _holders(
        "named",
        "except CloudError:",
        "except ZeroDivisionError:",
        "a refused delete fails because what holds it may not be read",
    ),
    _vpc(
        "decode",
        "State.PENDING if coming and state is State.READY else state",
        "state",
        "subnets are cut from an IPv6 block that is not there yet",
    ),
    _vpc(
        "DnsAttributes._ask",
        "except NotFound as lagging:",
        "except ZeroDivisionError as lagging:",
        "a VPC that one replica does not know yet counts as gone",
    ),
    _vpc(
        "DnsAttributes.of",
        "self._known[ident] = (values, looks - 1)",
        "self._known[ident] = (values, looks)",
        "what a person changes about a VPC is never seen",
    ),
    _vpc(
        "VpcDriver.update",
        "for name in (SUPPORT, HOSTNAMES) if wanted.get(SUPPORT, True) else (HOSTNAMES, SUPPORT):",
        "for name in (SUPPORT, HOSTNAMES):",
        "EC2 refuses to switch support off before host names, and the VPC stays as it is",
    ),
    _vpc(
        "kind",
        "essential_parts=frozenset({CIDR}),",
        "",
        "a subnet is asked for before the range that it is in",
    ),
    _subnet(
        "SubnetDriver.update",
        "if name != _IPV6 or not await self._gets_block(ref):\n                    raise",
        "if name != _IPV6:\n                    raise\n                if not await self._gets_block(ref):\n"
        "                    return",
        "an attribute that was refused counts as set",
    ),
    _subnet(
        "SubnetDriver.update",
        "if name != _IPV6 or not await self._gets_block(ref):",
        "if True:",
        "a subnet whose block is on its way waits for a person",
    ),
    _gateway(
        "kind",
        "exclusive_parts=attachment,",
        "",
        "with the journal lost, the attachment is nobody's and holds the delete for ever",
    ),
    _gateway(
        "kind",
        "essential_parts=attachment,",
        "",
        "a NAT gateway is made in a VPC that has no attached gateway yet, and fails",
    ),
    _gateway(
        "kind",
        "holding_parts=attachment,",
        "",
        "a gateway is deleted while it is attached, which EC2 refuses",
    ),
    _table(
        "kind",
        "exclusive_parts=associations,",
        "",
        "with the journal lost, an association is nobody's and holds the delete for ever",
    ),
    _table(
        "kind",
        "holding_parts=associations,",
        "",
        "a table is deleted while subnets use it, which EC2 refuses",
    ),
    _table(
        "kind",
        "part_changer=driver,",
        "",
        "a default route that leads elsewhere stays so",
    ),
    _address(
        "SHAPE",
        "shows_tags=False,",
        "",
        "an address whose create does not show its tags counts as one without marks",
    ),
)
