"""Every kind of resource that the simulated AWS makes, as commands of the AWS CLI from its birth to its end."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.aws_cli import Cli
from harness.simulated_aws import TRUST

POLICY = TRUST.replace('"Principal"', '"Resource"')
_TAG = "Key=a,Value=b"


@dataclass(frozen=True)
class Kind:
    """Commands for a resource. In braces: `id` (found in the reply to the create at the path `ident`; None is the
    fixed name), `arn` likewise, and the id of another kind, which is made for it.

    needs     kinds that must be there, though no command names them
    ready     waiters, and what belongs to the create
    describe  shows the resource
    tagged    shows its tags, if `describe` does not; `tag` sets a=b, "" where it is set at birth; `untag` removes it
    gone      what `describe` answers in the end: an error code, or a state
    """

    create: str
    ident: str | None
    describe: str
    delete: tuple[str, ...]
    gone: str
    ready: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    name: str = "one"
    arn: str = ""
    tag: str = f"ec2 create-tags --resources {{id}} --tags {_TAG}"
    untag: str = "ec2 delete-tags --resources {id} --tags Key=a"
    tagged: str = ""


def _elbv2(create: str, ident: str, noun: str, gone: str, **more: Any) -> Kind:
    return Kind(
        f"elbv2 create-{noun} {create}", ident, f"elbv2 describe-{noun}s --{noun}-arns {{id}}",
        gone=gone, tag=f"elbv2 add-tags --resource-arns {{id}} --tags {_TAG}",
        untag="elbv2 remove-tags --resource-arns {id} --tag-keys a",
        tagged="elbv2 describe-tags --resource-arns {id}",
        **{"delete": (f"elbv2 delete-{noun} --{noun}-arn {{id}}",), **more},
    )  # fmt: skip


def _eks(noun: str, names: str, create: str, **more: Any) -> Kind:
    return Kind(
        f"eks create-{noun} {names} {create}", None, f"eks describe-{noun} {names}",
        delete=(f"eks delete-{noun} {names}", f"eks wait {noun}-deleted {names}"),
        gone="ResourceNotFoundException", ready=(f"eks wait {noun}-active {names}",),
        tag="eks tag-resource --resource-arn {arn} --tags a=b",
        untag="eks untag-resource --resource-arn {arn} --tag-keys a",
        tagged="eks list-tags-for-resource --resource-arn {arn}", **more,
    )  # fmt: skip


KINDS = {
    "vpc": Kind(
        "ec2 create-vpc --cidr-block 10.0.0.0/16", "Vpc.VpcId", "ec2 describe-vpcs --vpc-ids {id}",
        ("ec2 delete-vpc --vpc-id {id}",), "InvalidVpcID.NotFound",
        ready=("ec2 wait vpc-exists --vpc-ids {id}", "ec2 wait vpc-available --vpc-ids {id}"),
    ),
    "subnet": Kind(
        "ec2 create-subnet --vpc-id {vpc} --cidr-block 10.0.0.0/24 --availability-zone us-east-1a", "Subnet.SubnetId",
        "ec2 describe-subnets --subnet-ids {id}", ("ec2 delete-subnet --subnet-id {id}",), "InvalidSubnetID.NotFound",
        ready=("ec2 wait subnet-available --subnet-ids {id}",),
    ),
    "other-subnet": Kind(
        "ec2 create-subnet --vpc-id {vpc} --cidr-block 10.0.1.0/24 --availability-zone us-east-1b", "Subnet.SubnetId",
        "ec2 describe-subnets --subnet-ids {id}", ("ec2 delete-subnet --subnet-id {id}",), "InvalidSubnetID.NotFound",
    ),
    "internet-gateway": Kind(
        "ec2 create-internet-gateway", "InternetGateway.InternetGatewayId",
        "ec2 describe-internet-gateways --internet-gateway-ids {id}",
        ("ec2 detach-internet-gateway --internet-gateway-id {id} --vpc-id {vpc}",
         "ec2 delete-internet-gateway --internet-gateway-id {id}"),
        "InvalidInternetGatewayID.NotFound",
        ready=("ec2 wait internet-gateway-exists --internet-gateway-ids {id}",
               "ec2 attach-internet-gateway --internet-gateway-id {id} --vpc-id {vpc}"),
        needs=("vpc",),
    ),
    "egress-only-internet-gateway": Kind(
        "ec2 create-egress-only-internet-gateway --vpc-id {vpc}",
        "EgressOnlyInternetGateway.EgressOnlyInternetGatewayId",
        "ec2 describe-egress-only-internet-gateways --egress-only-internet-gateway-ids {id}",
        ("ec2 delete-egress-only-internet-gateway --egress-only-internet-gateway-id {id}",),
        "InvalidGatewayID.NotFound",
    ),
    "elastic-ip": Kind(
        "ec2 allocate-address --domain vpc", "AllocationId", "ec2 describe-addresses --allocation-ids {id}",
        ("ec2 release-address --allocation-id {id}",), "InvalidAllocationID.NotFound",
    ),
    "natgateway": Kind(
        "ec2 create-nat-gateway --subnet-id {subnet} --allocation-id {elastic-ip}", "NatGateway.NatGatewayId",
        "ec2 describe-nat-gateways --nat-gateway-ids {id}",
        ("ec2 delete-nat-gateway --nat-gateway-id {id}", "ec2 wait nat-gateway-deleted --nat-gateway-ids {id}"),
        '"deleted"', ready=("ec2 wait nat-gateway-available --nat-gateway-ids {id}",), needs=("internet-gateway",),
    ),
    "route-table": Kind(
        "ec2 create-route-table --vpc-id {vpc}", "RouteTable.RouteTableId",
        "ec2 describe-route-tables --route-table-ids {id}", ("ec2 delete-route-table --route-table-id {id}",),
        "InvalidRouteTableID.NotFound",
    ),
    "security-group": Kind(
        "ec2 create-security-group --group-name one --description d --vpc-id {vpc}", "GroupId",
        "ec2 describe-security-groups --group-ids {id}", ("ec2 delete-security-group --group-id {id}",),
        "InvalidGroup.NotFound", ready=("ec2 wait security-group-exists --group-ids {id}",),
    ),
    "vpc-endpoint": Kind(
        "ec2 create-vpc-endpoint --vpc-id {vpc} --service-name com.amazonaws.us-east-1.s3 "
        "--route-table-ids {route-table}",
        "VpcEndpoint.VpcEndpointId", "ec2 describe-vpc-endpoints --vpc-endpoint-ids {id}",
        ("ec2 delete-vpc-endpoints --vpc-endpoint-ids {id}",), "InvalidVpcEndpointId.NotFound",
    ),
    "network-interface": Kind(
        "ec2 create-network-interface --subnet-id {subnet} --groups {security-group}",
        "NetworkInterface.NetworkInterfaceId", "ec2 describe-network-interfaces --network-interface-ids {id}",
        ("ec2 delete-network-interface --network-interface-id {id}",), "InvalidNetworkInterfaceID.NotFound",
        ready=("ec2 wait network-interface-available --network-interface-ids {id}",),
    ),
    "volume": Kind(
        "ec2 create-volume --availability-zone us-east-1a --size 1", "VolumeId",
        "ec2 describe-volumes --volume-ids {id}",
        ("ec2 delete-volume --volume-id {id}", "ec2 wait volume-deleted --volume-ids {id}"), "InvalidVolume.NotFound",
        ready=("ec2 wait volume-available --volume-ids {id}",),
    ),
    "key-pair": Kind(
        "ec2 import-key-pair --key-name one --public-key-material c3NoLXJzYQ==", "KeyPairId",
        "ec2 describe-key-pairs --key-pair-ids {id}", ("ec2 delete-key-pair --key-pair-id {id}",),
        "InvalidKeyPair.NotFound", ready=("ec2 wait key-pair-exists --key-pair-ids {id}",),
    ),
    "instance": Kind(
        "ec2 run-instances --image-id ami-0a0000000000000c1 --instance-type t3.micro --subnet-id {subnet}",
        "Instances.0.InstanceId", "ec2 describe-instances --instance-ids {id}",
        ("ec2 terminate-instances --instance-ids {id}", "ec2 wait instance-terminated --instance-ids {id}"),
        '"terminated"',
        ready=("ec2 wait instance-exists --instance-ids {id}", "ec2 wait instance-running --instance-ids {id}",
               "ec2 wait instance-status-ok --instance-ids {id}"),
    ),
    "classic-load-balancer": Kind(
        "elb create-load-balancer --load-balancer-name one --subnets {subnet} --listeners "
        "Protocol=TCP,LoadBalancerPort=80,InstanceProtocol=TCP,InstancePort=80",
        None, "elb describe-load-balancers --load-balancer-names one",
        ("elb delete-load-balancer --load-balancer-name one",), "LoadBalancerNotFound", needs=("internet-gateway",),
        tag=f"elb add-tags --load-balancer-names one --tags {_TAG}",
        untag="elb remove-tags --load-balancer-names one --tags a",
        tagged="elb describe-tags --load-balancer-names one",
    ),
    "load-balancer": _elbv2(
        "--name one --type network --subnets {subnet}", "LoadBalancers.0.LoadBalancerArn", "load-balancer",
        "LoadBalancerNotFound", needs=("internet-gateway",),
        ready=("elbv2 wait load-balancer-exists --load-balancer-arns {id}",
               "elbv2 wait load-balancer-available --load-balancer-arns {id}"),
        delete=("elbv2 delete-load-balancer --load-balancer-arn {id}",
                "elbv2 wait load-balancers-deleted --load-balancer-arns {id}"),
    ),
    "target-group": _elbv2(
        "--name one --protocol TCP --port 80 --vpc-id {vpc}", "TargetGroups.0.TargetGroupArn", "target-group",
        "TargetGroupNotFound",
    ),
    "listener": _elbv2(
        "--load-balancer-arn {load-balancer} --protocol TCP --port 80 "
        "--default-actions Type=forward,TargetGroupArn={target-group}",
        "Listeners.0.ListenerArn", "listener", "ListenerNotFound",
    ),
    "role": Kind(
        "iam create-role --role-name one --assume-role-policy-document {trust}", None, "iam get-role --role-name one",
        ("iam delete-role --role-name one",), "NoSuchEntity", ready=("iam wait role-exists --role-name one",),
        tag=f"iam tag-role --role-name one --tags {_TAG}", untag="iam untag-role --role-name one --tag-keys a",
        arn="Role.Arn",
    ),
    "policy": Kind(
        f"iam create-policy --policy-name one --policy-document {{policy}} --tags {_TAG}", "Policy.Arn",
        "iam get-policy --policy-arn {id}", ("iam delete-policy --policy-arn {id}",), "NoSuchEntity",
        ready=("iam wait policy-exists --policy-arn {id}",), tag="", untag="",
    ),
    "instance-profile": Kind(
        f"iam create-instance-profile --instance-profile-name one --tags {_TAG}", None,
        "iam get-instance-profile --instance-profile-name one",
        ("iam delete-instance-profile --instance-profile-name one",), "NoSuchEntity",
        ready=("iam wait instance-profile-exists --instance-profile-name one",), tag="", untag="",
    ),
    "bucket": Kind(
        "s3api create-bucket --bucket {id}", None, "s3api list-objects-v2 --no-paginate --bucket {id}",
        ("s3api delete-bucket --bucket {id}", "s3api wait bucket-not-exists --bucket {id}"), "NoSuchBucket",
        ready=("s3api wait bucket-exists --bucket {id}",), name="one-bucket",
        tag=f"s3api put-bucket-tagging --bucket {{id}} --tagging TagSet=[{{{_TAG}}}]",
        untag="s3api put-bucket-tagging --bucket {id} --tagging TagSet=[{Key=other,Value=x}]",
        tagged="s3api get-bucket-tagging --bucket {id}",
    ),
    "secret": Kind(
        "secretsmanager create-secret --name one --secret-string x", "ARN",
        "secretsmanager describe-secret --secret-id {id}",
        ("secretsmanager delete-secret --secret-id {id} --force-delete-without-recovery",),
        "ResourceNotFoundException", tag=f"secretsmanager tag-resource --secret-id {{id}} --tags {_TAG}",
        untag="secretsmanager untag-resource --secret-id {id} --tag-keys a",
    ),
    "cluster": _eks(
        "cluster", "--name one",
        "--role-arn {role.arn} --resources-vpc-config subnetIds={subnet},{other-subnet}", arn="cluster.arn",
    ),
    "nodegroup": _eks(
        "nodegroup", "--cluster-name {cluster} --nodegroup-name one",
        "--node-role {role.arn} --subnets {subnet}", arn="nodegroup.nodegroupArn",
    ),
    "addon": _eks(
        "addon", "--cluster-name {cluster} --addon-name coredns", "--resolve-conflicts OVERWRITE",
        name="coredns", arn="addon.addonArn",
    ),
}  # fmt: skip


TAG = ("a", "b")


def tags_in(reply: Any) -> set[tuple[str, str]]:
    """Return the tags anywhere in a reply: lists of keys and values, or mappings."""
    if isinstance(reply, list):
        return {tag for each in reply for tag in tags_in(each)}
    if not isinstance(reply, dict):
        return set()
    pair = {(str(reply["Key"]), str(reply.get("Value", "")))} if "Key" in reply else set()
    mapped = reply["tags"].items() if isinstance(reply.get("tags"), dict) else ()
    return {*pair, *mapped, *(tag for each in reply.values() for tag in tags_in(each))}


_BRACED = re.compile(r"\{([a-z.-]+)\}")


def dig(reply: Any, path: str) -> str:
    """Return what is at a dotted path."""
    for step in path.split("."):
        reply = reply[int(step)] if step.isdigit() else reply[step]
    return str(reply)


class Made:
    """What a case has made so far, by kind; `close` removes it in reverse."""

    def __init__(self, aws: Cli) -> None:
        self._aws = aws
        self._words = {"trust": TRUST, "policy": POLICY}
        self._undo: list[Callable[[], None]] = []

    def __getitem__(self, name: str) -> str:
        kind = name.partition(".")[0]
        if kind not in self._words:
            self.make(kind)
        return self._words[name]

    def make(self, name: str) -> dict[str, str]:
        """Make a resource and what it needs; return its `id` and `arn`."""
        kind = KINDS[name]
        for other in kind.needs:
            self[other]
        own = {"id": kind.name}
        reply = self.run(kind.create, own)
        own["id"] = dig(reply, kind.ident) if kind.ident else kind.name
        own["arn"] = dig(reply, kind.arn) if kind.arn else ""
        self._words.update({name: own["id"], f"{name}.arn": own["arn"]})
        self._undo.append(lambda: self._remove(kind, own))
        for command in kind.ready:
            self.run(command, own)
        return own

    def _remove(self, kind: Kind, own: dict[str, str]) -> None:
        for command in kind.delete:
            self.run(command, own)

    def words(self, command: str, own: dict[str, str]) -> list[str]:
        """Return the words of a command; a value may have spaces."""
        return [_BRACED.sub(lambda found: own.get(found[1]) or self[found[1]], word) for word in command.split()]

    def run(self, command: str, own: dict[str, str]) -> Any:
        return self._aws(*self.words(command, own))

    def remove_last(self) -> None:
        """Remove what was made last."""
        self._undo.pop()()

    def close(self) -> None:
        while self._undo:
            self.remove_last()
