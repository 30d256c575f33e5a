"""What else happens when a timer fires: an explicit table."""

from collections.abc import Mapping

from freehold_sim.aws.ec2 import endpoints, instances, interfaces, nat_gateways, vpcs
from freehold_sim.aws.eks import admission, clusters
from freehold_sim.aws.world import Effect

ENDS: Mapping[str, str] = {
    "natgateway": "release-nat-gateway",
    "vpc-endpoint": "release-endpoint",
    "instance": "release-instance",
    "network-interface": "release-interface",
    "eks-cluster": "release-cluster",
}
"""The effect with which a resource of a kind ends, by kind."""

UNDO: Mapping[str, Effect] = {"network-interface": interfaces.give_back}
"""What else is undone, by kind, when a call is refused after it made something."""

EFFECTS: Mapping[str, Effect] = {
    "release-nat-gateway": nat_gateways.release,
    "release-endpoint": endpoints.release,
    "release-instance": instances.release,
    "stop-instance": instances.give_up_public,
    "release-cluster": clusters.release,
    "open-access-entries": admission.open_api,
    "release-interface": interfaces.give_back,
    "associate-blocks": vpcs.associate,
}
