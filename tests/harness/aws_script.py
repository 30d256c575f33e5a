"""One script in boto3 that is run against the simulated AWS and against moto, step by step, outcomes side by side.

A step gets the clients and what earlier steps remember; it returns what is compared: "ok", a state, or an error code.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from harness import aws_script_access

Clients = Callable[[str], Any]
Step = Callable[[Clients, dict[str, Any]], Any]
MACHINE = {"InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}


def run(clients: Clients, image: str) -> dict[str, str]:
    """Return the outcome of each step; `image` is one that exists."""
    memory: dict[str, Any] = {"machine": {**MACHINE, "ImageId": image}}
    return {name: _outcome(step, clients, memory) for name, step in STEPS.items()}


def _outcome(step: Step, clients: Clients, memory: dict[str, Any]) -> str:
    try:
        found = step(clients, memory)
    except ClientError as refused:
        return str(refused.response["Error"]["Code"])
    except Exception as broken:
        return type(broken).__name__  # moto answers some requests with an exception of its own
    return "ok" if found is None or isinstance(found, dict) else str(found)


def _network(c: Clients, m: dict[str, Any]) -> None:
    ec2 = c("ec2")
    m["vpc"] = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    m["igw"] = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=m["igw"], VpcId=m["vpc"])
    m["subnets"] = [
        ec2.create_subnet(VpcId=m["vpc"], CidrBlock=f"10.0.{n}.0/24", AvailabilityZone=f"us-east-1{zone}")["Subnet"][
            "SubnetId"
        ]
        for n, zone in enumerate("abc")
    ]
    m["eip"] = ec2.allocate_address(Domain="vpc")["AllocationId"]


def _nat(c: Clients, m: dict[str, Any]) -> str:
    made = c("ec2").create_nat_gateway(SubnetId=m["subnets"][0], AllocationId=m["eip"], ClientToken="one")
    m["nat"] = made["NatGateway"]["NatGatewayId"]
    return str(made["NatGateway"]["State"])


def _nat_again(c: Clients, m: dict[str, Any]) -> str:
    made = c("ec2").create_nat_gateway(SubnetId=m["subnets"][0], AllocationId=m["eip"], ClientToken="one")
    return "same" if made["NatGateway"]["NatGatewayId"] == m["nat"] else "another"


def _twice(c: Clients, m: dict[str, Any], token: str) -> str:
    made = {c("ec2").create_route_table(VpcId=m["vpc"], ClientToken=token)["RouteTable"]["RouteTableId"] for _ in "ab"}
    m["tables"] = sorted(made)
    return f"{len(made)} made"


def _instance(c: Clients, m: dict[str, Any]) -> str:
    made = {
        c("ec2").run_instances(**m["machine"], SubnetId=m["subnets"][1], ClientToken="one")["Instances"][0][
            "InstanceId"
        ]
        for _ in "ab"
    }
    m["instances"] = sorted(made)
    return f"{len(made)} made"


def _balancer(c: Clients, m: dict[str, Any]) -> str:
    made = {
        c("elbv2").create_load_balancer(Name="lb", Type="network", Subnets=m["subnets"])["LoadBalancers"][0][
            "LoadBalancerArn"
        ]
        for _ in "ab"
    }
    m["lbs"] = sorted(made)
    return f"{len(made)} made"


def _group(c: Clients, m: dict[str, Any]) -> str:
    ask = {"Name": "tg", "Protocol": "TCP", "Port": 6443, "VpcId": m["vpc"]}
    made = {c("elbv2").create_target_group(**ask)["TargetGroups"][0]["TargetGroupArn"] for _ in "ab"}
    return f"{len(made)} made"


def _security(c: Clients, m: dict[str, Any]) -> None:
    ec2 = c("ec2")
    m["sgs"] = [
        ec2.create_security_group(VpcId=m["vpc"], GroupName=name, Description="d")["GroupId"] for name in ("one", "two")
    ]
    rule = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": m["sgs"][0]}]}]
    ec2.authorize_security_group_ingress(GroupId=m["sgs"][1], IpPermissions=rule)


def _untagged_kinds(c: Clients, m: dict[str, Any]) -> str:
    tags = [{"Key": "own", "Value": "1"}]
    c("ec2").create_tags(Resources=[m["vpc"], m["eip"], m["igw"]], Tags=tags)
    rows = c("resourcegroupstaggingapi").get_resources(TagFilters=[{"Key": "own"}])["ResourceTagMappingList"]
    return " ".join(sorted(row["ResourceARN"].split(":")[5].split("/")[0] for row in rows)) or "none"


def _paged(c: Clients, m: dict[str, Any]) -> str:
    for number in range(5, 10):
        c("ec2").create_subnet(VpcId=m["vpc"], CidrBlock=f"10.0.{number}.0/24")
    return f"{len(c('ec2').describe_subnets(MaxResults=5)['Subnets'])} in a page of 5"


def _tag_missing(c: Clients, m: dict[str, Any]) -> str:
    account = c("sts").get_caller_identity()["Account"]
    arn = f"arn:aws:ec2:us-east-1:{account}:vpc/vpc-0123456789abcdef0"
    failed = c("resourcegroupstaggingapi").tag_resources(ResourceARNList=[arn], Tags={"a": "b"})
    return f"{len(failed['FailedResourcesMap'])} failed"


def _tag_many(c: Clients, m: dict[str, Any]) -> None:
    account = c("sts").get_caller_identity()["Account"]
    arns = [f"arn:aws:ec2:us-east-1:{account}:vpc/vpc-{n:017x}" for n in range(21)]
    c("resourcegroupstaggingapi").tag_resources(ResourceARNList=arns, Tags={"a": "b"})


def _dry_run(c: Clients, m: dict[str, Any]) -> None:
    c("ec2").create_vpc(CidrBlock="10.0.0.0/16", DryRun=True)


def _card_of(c: Clients, instance: str) -> dict[str, Any]:
    filters = [{"Name": "attachment.instance-id", "Values": [instance]}]
    return dict(c("ec2").describe_network_interfaces(Filters=filters)["NetworkInterfaces"][0])


def _volume_of(c: Clients, instance: str) -> str:
    filters = [{"Name": "attachment.instance-id", "Values": [instance]}]
    return str(c("ec2").describe_volumes(Filters=filters)["Volumes"][0]["VolumeId"])


def _protected(c: Clients, m: dict[str, Any]) -> None:
    made = c("elbv2").create_load_balancer(Name="guarded", Type="network", Subnets=m["subnets"][1:])
    arn = made["LoadBalancers"][0]["LoadBalancerArn"]
    wanted = [{"Key": "deletion_protection.enabled", "Value": "true"}]
    c("elbv2").modify_load_balancer_attributes(LoadBalancerArn=arn, Attributes=wanted)
    c("elbv2").delete_load_balancer(LoadBalancerArn=arn)


def _behind(c: Clients, m: dict[str, Any]) -> None:
    m["tg"] = c("elbv2").describe_target_groups(Names=["tg"])["TargetGroups"][0]["TargetGroupArn"]
    action = [{"Type": "forward", "TargetGroupArn": m["tg"]}]
    c("elbv2").create_listener(LoadBalancerArn=m["lbs"][0], Protocol="TCP", Port=80, DefaultActions=action)
    c("elbv2").delete_target_group(TargetGroupArn=m["tg"])


def _no_more_behind(c: Clients, m: dict[str, Any]) -> None:
    """Delete the load balancer, then its target group, which no listener holds any more."""
    c("elbv2").delete_load_balancer(LoadBalancerArn=m["lbs"][0])
    c("elbv2").delete_target_group(TargetGroupArn=m["tg"])


def _held_by_interface(c: Clients, m: dict[str, Any]) -> None:
    """Make and delete a classic load balancer in a group, then delete the group: the interfaces are still in it."""
    group = c("ec2").create_security_group(VpcId=m["vpc"], GroupName="elb", Description="d")["GroupId"]
    c("elb").create_load_balancer(
        LoadBalancerName="short", Subnets=m["subnets"][1:], SecurityGroups=[group],
        Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 80}],
    )  # fmt: skip
    c("elb").delete_load_balancer(LoadBalancerName="short")
    c("ec2").delete_security_group(GroupId=group)


def _machine(c: Clients, m: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Launch another instance, with a request that has `more`."""
    given = {**m["machine"], "SubnetId": m["subnets"][2], **more}
    return dict(c("ec2").run_instances(**given)["Instances"][0])


def _network_card(m: dict[str, Any], index: int) -> dict[str, Any]:
    return {"DeviceIndex": index, "SubnetId": m["subnets"][2]}


def _two_cards(c: Clients, m: dict[str, Any]) -> str:
    cards = [_network_card(m, index) for index in (0, 1)]
    made = c("ec2").run_instances(**m["machine"], NetworkInterfaces=cards)["Instances"][0]
    return f"{len(made['NetworkInterfaces'])} interfaces"


def _one_index_twice(c: Clients, m: dict[str, Any]) -> None:
    c("ec2").run_instances(**m["machine"], NetworkInterfaces=[_network_card(m, 0)] * 2)


def _protected_instance(c: Clients, m: dict[str, Any]) -> None:
    made = _machine(c, m, DisableApiTermination=True)
    c("ec2").terminate_instances(InstanceIds=[made["InstanceId"]])


def _spot(c: Clients, m: dict[str, Any]) -> str:
    made = _machine(c, m, InstanceMarketOptions={"MarketType": "spot"})
    return str(made.get("InstanceLifecycle", "on-demand"))


def _spot_price(c: Clients, m: dict[str, Any]) -> None:
    _machine(c, m, InstanceMarketOptions={"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.0001"}})


def _disk(c: Clients, m: dict[str, Any], device: str, **disk: Any) -> None:
    _machine(c, m, BlockDeviceMappings=[{"DeviceName": device, "Ebs": disk}])


def _metadata(c: Clients, m: dict[str, Any]) -> str:
    made = _machine(c, m, MetadataOptions={"HttpTokens": "required"})
    return str(made.get("MetadataOptions", {}).get("HttpTokens", "none"))


def _tags_in_metadata(c: Clients, m: dict[str, Any]) -> None:
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "kubernetes.io/cluster/one", "Value": "owned"}]}]
    _machine(c, m, TagSpecifications=tags, MetadataOptions={"InstanceMetadataTags": "enabled"})


def _bare_profile(c: Clients, m: dict[str, Any]) -> None:
    c("iam").create_instance_profile(InstanceProfileName="bare")
    _machine(c, m, IamInstanceProfile={"Name": "bare"})


def _secret_twice(c: Clients, m: dict[str, Any]) -> str:
    ask = {"Name": "s", "SecretString": "x", "ClientRequestToken": "t" * 32}
    made = {c("secretsmanager").create_secret(**ask)["ARN"] for _ in "ab"}
    return f"{len(made)} made"


def _secret_again(c: Clients, m: dict[str, Any]) -> None:
    c("secretsmanager").create_secret(Name="gone", SecretString="x")
    c("secretsmanager").delete_secret(SecretId="gone", ForceDeleteWithoutRecovery=True)
    c("secretsmanager").create_secret(Name="gone", SecretString="x")


def _new_target(c: Clients, m: dict[str, Any]) -> str:
    made = c("elbv2").create_target_group(Name="new", Protocol="TCP", Port=1, VpcId=m["vpc"])
    group = made["TargetGroups"][0]["TargetGroupArn"]
    c("elbv2").register_targets(TargetGroupArn=group, Targets=[{"Id": m["instances"][0]}])
    (row,) = c("elbv2").describe_target_health(TargetGroupArn=group)["TargetHealthDescriptions"]
    return str(row["TargetHealth"]["State"])


def _eks(c: Clients, m: dict[str, Any], **more: Any) -> str:
    """Create a cluster; without a name of its own it is refused here."""
    arn = f"arn:aws:iam::{c('sts').get_caller_identity()['Account']}:role/cluster"
    base = {"name": f"refused-{len(m)}", "roleArn": arn, "resourcesVpcConfig": {"subnetIds": m["subnets"][1:]}}
    return str(c("eks").create_cluster(**{**base, **more})["cluster"]["status"])


def _new_cluster(c: Clients, m: dict[str, Any]) -> str:
    for name, service in (("cluster", "eks"), ("other", "ec2")):
        trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": f"{service}.amazonaws.com"}}
        document = json.dumps({"Version": "2012-10-17", "Statement": trust})
        c("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document)
    return _eks(c, m, name="one", clientRequestToken="one")


def _cluster_again(c: Clients, m: dict[str, Any]) -> str:
    _eks(c, m, name="one", clientRequestToken="one")
    return f"{len(c('eks').list_clusters()['clusters'])} made"


def _refused_cluster(c: Clients, m: dict[str, Any], **more: Any) -> None:
    _eks(c, m, **more)
    m[f"cluster {len(m)}"] = ""


def _in_one_zone(c: Clients, m: dict[str, Any]) -> None:
    _refused_cluster(c, m, resourcesVpcConfig={"subnetIds": m["subnets"][1:2]})


def _unreached(c: Clients, m: dict[str, Any]) -> None:
    _refused_cluster(c, m, resourcesVpcConfig={"subnetIds": m["subnets"][1:], "endpointPublicAccess": False})


def _of_another_role(c: Clients, m: dict[str, Any]) -> None:
    _refused_cluster(c, m, roleArn=c("iam").get_role(RoleName="other")["Role"]["Arn"])


def _unknown_cluster_key(c: Clients, m: dict[str, Any]) -> None:
    account = c("sts").get_caller_identity()["Account"]
    provider = {"keyArn": f"arn:aws:kms:us-east-1:{account}:key/0a1b2c3d-0000-4000-a000-000000000000"}
    _refused_cluster(c, m, encryptionConfig=[{"resources": ["secrets"], "provider": provider}])


STEPS: Mapping[str, Step] = {
    "network": _network,
    "CIDR of another subnet": lambda c, m: c("ec2").create_subnet(VpcId=m["vpc"], CidrBlock="10.0.0.0/24"),
    "CIDR outside of the VPC": lambda c, m: c("ec2").create_subnet(VpcId=m["vpc"], CidrBlock="10.1.0.0/24"),
    "CreateNatGateway": _nat,
    "state of the NAT gateway": lambda c, m: c("ec2").describe_nat_gateways(NatGatewayIds=[m["nat"]])["NatGateways"][0][
        "State"
    ],
    "NAT gateway by the same token": _nat_again,
    "address of a NAT gateway released": lambda c, m: c("ec2").release_address(AllocationId=m["eip"]),
    "gateway detached under public addresses": lambda c, m: c("ec2").detach_internet_gateway(
        InternetGatewayId=m["igw"], VpcId=m["vpc"]
    ),
    "route table twice by one token": lambda c, m: _twice(c, m, "one"),
    "token with other parameters": lambda c, m: c("ec2").create_route_table(
        VpcId=m["vpc"], ClientToken="one",
        TagSpecifications=[{"ResourceType": "route-table", "Tags": [{"Key": "a", "Value": "b"}]}],
    ),
    "instance twice by one token": _instance,
    "security groups": _security,
    "group name taken": lambda c, m: c("ec2").create_security_group(
        VpcId=m["vpc"], GroupName="one", Description="d"
    ),
    "group that another names deleted": lambda c, m: c("ec2").delete_security_group(GroupId=m["sgs"][0]),
    "load balancer twice with one name": _balancer,
    "name with other settings": lambda c, m: c("elbv2").create_load_balancer(
        Name="lb", Type="network", Subnets=m["subnets"][:1]
    ),
    "target group twice with one name": _group,
    "dry run": _dry_run,
    "tag with a reserved key": lambda c, m: c("ec2").create_tags(
        Resources=[m["vpc"]], Tags=[{"Key": "aws:a", "Value": "b"}]
    ),
    "51 tags": lambda c, m: c("ec2").create_tags(
        Resources=[m["vpc"]], Tags=[{"Key": f"k{n}", "Value": ""} for n in range(51)]
    ),
    "unknown filter": lambda c, m: c("ec2").describe_vpcs(Filters=[{"Name": "nonsense", "Values": ["x"]}]),
    "kinds that the tagging API shows": _untagged_kinds,
    "tag of a missing resource": _tag_missing,
    "tags on 21 ARNs": _tag_many,
    "page of a list": _paged,
    "subnet of a NAT gateway deleted": lambda c, m: c("ec2").delete_subnet(SubnetId=m["subnets"][0]),
    "missing VPC": lambda c, m: c("ec2").delete_vpc(VpcId="vpc-0123456789abcdef0"),
    "missing NAT gateway": lambda c, m: c("ec2").delete_nat_gateway(NatGatewayId="nat-0123456789abcdef0"),
    "missing role": lambda c, m: c("iam").get_role(RoleName="none"),
    "missing bucket": lambda c, m: c("s3").delete_bucket(Bucket="none-such-bucket"),
    "missing cluster": lambda c, m: c("eks").describe_cluster(name="none"),
    "missing secret": lambda c, m: c("secretsmanager").describe_secret(SecretId="none"),
    "interface in use deleted": lambda c, m: c("ec2").delete_network_interface(
        NetworkInterfaceId=_card_of(c, m["instances"][0])["NetworkInterfaceId"]
    ),
    "volume in use deleted": lambda c, m: c("ec2").delete_volume(VolumeId=_volume_of(c, m["instances"][0])),
    "snapshot of a volume": lambda c, m: c("ec2").create_snapshot(VolumeId=_volume_of(c, m["instances"][0]))["State"],
    "protected load balancer deleted": _protected,
    "two load balancers of which one is missing": lambda c, m: c("elbv2").describe_load_balancers(Names=["lb", "none"]),
    "21 load balancers by ARN": lambda c, m: c("elbv2").describe_load_balancers(LoadBalancerArns=[m["lbs"][0]] * 21),
    "target group behind a listener deleted": _behind,
    "listeners gone with their load balancer": _no_more_behind,
    "group of a load balancer that has just gone": _held_by_interface,
    "missing target group deleted": lambda c, m: c("elbv2").delete_target_group(TargetGroupArn=m["tg"]),
    "state of a new instance": lambda c, m: _machine(c, m)["State"]["Name"],
    "unknown image": lambda c, m: _machine(c, m, ImageId="ami-0123456789abcdef0"),
    "unknown instance type": lambda c, m: _machine(c, m, InstanceType="x9.huge"),
    "type of another architecture": lambda c, m: _machine(c, m, InstanceType="m6g.large"),
    "unknown key": lambda c, m: _machine(c, m, KeyName="none"),
    "unknown instance profile": lambda c, m: _machine(c, m, IamInstanceProfile={"Name": "none"}),
    "instance profile without a role": _bare_profile,
    "too much user data": lambda c, m: _machine(c, m, UserData="x" * 16385),
    "instance with two interfaces": _two_cards,
    "two interfaces at one index": _one_index_twice,
    "instance with a public and another interface": lambda c, m: c("ec2").run_instances(
        **m["machine"],
        NetworkInterfaces=[{**_network_card(m, 0), "AssociatePublicIpAddress": True}, _network_card(m, 1)],
    ),
    "volume smaller than its snapshot": lambda c, m: _disk(
        c, m, c("ec2").describe_images(ImageIds=[m["machine"]["ImageId"]])["Images"][0]["RootDeviceName"], VolumeSize=1
    ),
    "device that there is not": lambda c, m: _disk(c, m, "/dev/root", VolumeSize=8),
    "IOPS of gp2": lambda c, m: _disk(c, m, "/dev/sdf", VolumeSize=8, VolumeType="gp2", Iops=3000),
    "too few IOPS": lambda c, m: _disk(c, m, "/dev/sdf", VolumeSize=8, VolumeType="gp3", Iops=100),
    "spot instance": _spot,
    "spot instance too cheap": _spot_price,
    "unknown placement group": lambda c, m: _machine(c, m, Placement={"GroupName": "none"}),
    "metadata options": _metadata,
    "tags with a slash in the metadata": _tags_in_metadata,
    "protected instance terminated": _protected_instance,
    "secret twice by one token": _secret_twice,
    "secret made again after its deletion": _secret_again,
    "missing secret deleted": lambda c, m: c("secretsmanager").delete_secret(SecretId="none"),
    "missing secret deleted without recovery": lambda c, m: c("secretsmanager").delete_secret(
        SecretId="none", ForceDeleteWithoutRecovery=True
    ),
    "unknown DHCP options": lambda c, m: c("ec2").describe_dhcp_options(DhcpOptionsIds=["dopt-0123456789abcdef1"]),
    "new target": _new_target,
    "missing volume deleted": lambda c, m: c("ec2").delete_volume(VolumeId="vol-0123456789abcdef0"),
    "missing interface deleted": lambda c, m: c("ec2").delete_network_interface(
        NetworkInterfaceId="eni-0123456789abcdef0"
    ),
    "missing security group deleted": lambda c, m: c("ec2").delete_security_group(GroupId="sg-0123456789abcdef0"),
    "new cluster": _new_cluster,
    "cluster twice by one token": _cluster_again,
    "cluster of a version out of support": lambda c, m: _refused_cluster(c, m, version="1.30"),
    "cluster in one zone": _in_one_zone,
    "cluster that nobody reaches": _unreached,
    "cluster whose role trusts another service": _of_another_role,
    "cluster with a key that there is not": _unknown_cluster_key,
    "cluster changed before it is there": lambda c, m: c("eks").update_cluster_config(
        name="one", logging={"clusterLogging": [{"types": ["api"], "enabled": True}]}
    ),
    "missing cluster changed": lambda c, m: c("eks").update_cluster_config(
        name="none", logging={"clusterLogging": [{"types": ["api"], "enabled": True}]}
    ),
    "missing load balancer deleted": lambda c, m: c("elb").delete_load_balancer(LoadBalancerName="none"),
    **aws_script_access.STEPS,
}  # fmt: skip
