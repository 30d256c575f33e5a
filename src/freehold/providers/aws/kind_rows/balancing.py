"""Rows of Elastic Load Balancing, classic and v2."""

from __future__ import annotations

from freehold.providers.aws.kind_rows.row import KindFacts, PartFacts

KINDS: tuple[KindFacts, ...] = (
    KindFacts(
        name="classic-load-balancer",
        service="elb",
        create="CreateLoadBalancer",
        describe="DescribeLoadBalancers",
        delete="DeleteLoadBalancer",
        deleted_by="LoadBalancerName",
        arn_type="loadbalancer",
        indexed_as="elasticloadbalancing:loadbalancer",
        tags_in="Tags",
        natural_key="name in the region: DuplicateLoadBalancerName",
        mutable={
            "HealthCheck": "ConfigureHealthCheck",
            "ConnectionSettings": "ModifyLoadBalancerAttributes",
            "CrossZoneLoadBalancing": "ModifyLoadBalancerAttributes",
            "SecurityGroups": "ApplySecurityGroupsToLoadBalancer",
        },
        immutable=("LoadBalancerName", "Scheme"),
        parts=(
            PartFacts("balancer-subnet", "subnet", "AttachLoadBalancerToSubnets", "DetachLoadBalancerFromSubnets"),
            PartFacts("classic-listener", "port", "CreateLoadBalancerListeners", "DeleteLoadBalancerListeners"),
        ),
        reads=("DescribeLoadBalancerAttributes",),
        create_time=10.0,
        delete_time=180.0,
    ),
    KindFacts(
        name="network-load-balancer",
        service="elbv2",
        create="CreateLoadBalancer",
        describe="DescribeLoadBalancers",
        delete="DeleteLoadBalancer",
        deleted_by="LoadBalancerArn",
        arn_type="loadbalancer",
        indexed_as="elasticloadbalancing:loadbalancer",
        tags_in="Tags",
        natural_key="name in the region: the same settings answer with the one that is there, "
        "others DuplicateLoadBalancerName",
        mutable={
            "LoadBalancerAttributes": "ModifyLoadBalancerAttributes",
            "SecurityGroups": "SetSecurityGroups",
            "Subnets": "SetSubnets",
        },
        by_person={"IpAddressType": "SetIpAddressType"},
        immutable=("Name", "Scheme", "Type"),
        reads=("DescribeLoadBalancerAttributes",),
        create_time=120.0,
        delete_time=180.0,
    ),
    KindFacts(
        name="target-group",
        service="elbv2",
        create="CreateTargetGroup",
        describe="DescribeTargetGroups",
        delete="DeleteTargetGroup",
        deleted_by="TargetGroupArn",
        arn_type="targetgroup",
        indexed_as="elasticloadbalancing:targetgroup",
        tags_in="Tags",
        natural_key="name in the region: the same settings answer with the one that is there, "
        "others DuplicateTargetGroupName",
        mutable={"HealthCheck": "ModifyTargetGroup", "Attributes": "ModifyTargetGroupAttributes"},
        immutable=("Name", "Protocol", "Port", "VpcId", "TargetType", "IpAddressType"),
        reads=("DescribeTargetGroupAttributes", "DescribeTargetHealth"),
    ),
    KindFacts(
        name="listener",
        service="elbv2",
        create="CreateListener",
        describe="DescribeListeners",
        delete="DeleteListener",
        deleted_by="ListenerArn",
        arn_type="listener",
        indexed_as="elasticloadbalancing:listener",
        tags_in="Tags",
        natural_key="port of the load balancer: the same settings answer with the one that is there, "
        "others DuplicateListener",
        mutable={"Port": "ModifyListener", "Protocol": "ModifyListener", "DefaultActions": "ModifyListener"},
        immutable=("LoadBalancerArn",),
    ),
)
