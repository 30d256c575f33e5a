"""The identity provider of IAM by which a cluster's pods get roles. Pure."""

from __future__ import annotations

from typing import Final

from freehold.engine.graph import Naming, Node, ReadyNodes
from freehold.engine.resources import Request
from freehold.providers.aws.control_plane.keys import CLUSTER, OIDC

AUDIENCE: Final = "sts.amazonaws.com"
"""https://docs.aws.amazon.com/eks/latest/userguide/enable-iam-roles-for-service-accounts.html"""


def oidc_node(eks_name: str, tags: frozenset[str] = frozenset()) -> Node:
    """Make the node. The URL is the ``issuer`` of the ready cluster.

    Nobody else can have a use for a provider of this issuer, so one that is there is used, and kept. It goes after the
    cluster, whose pods may need it until then.
    """

    def request(known: ReadyNodes) -> Request:
        return {"url": known[CLUSTER].attributes["issuer"], "client_ids": [AUDIENCE]}

    return Node(
        OIDC,
        f"{eks_name}-oidc",
        request,
        Naming.EXPLICIT,
        requires=frozenset({CLUSTER}),
        may_outlive=frozenset({CLUSTER}),
        field="spec.associateOIDCProvider",
        tags=tags,
    )
