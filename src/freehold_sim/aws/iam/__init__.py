"""Simulated IAM: roles, their policies, instance profiles, OpenID Connect providers.

IAM is global: its records have no region.
"""

from freehold_sim.aws.call import Operation
from freehold_sim.aws.iam import managed_policies, oidc_providers, profiles, role_policies, roles

OPERATIONS: tuple[Operation, ...] = (
    *roles.OPERATIONS,
    *role_policies.OPERATIONS,
    *profiles.OPERATIONS,
    *managed_policies.OPERATIONS,
    *oidc_providers.OPERATIONS,
)
