"""Simulated IAM: roles, their policies, instance profiles. IAM is global: its records have no region."""

from freehold_sim.aws.call import Operation
from freehold_sim.aws.iam import managed_policies, profiles, role_policies, roles

OPERATIONS: tuple[Operation, ...] = (
    *roles.OPERATIONS,
    *role_policies.OPERATIONS,
    *profiles.OPERATIONS,
    *managed_policies.OPERATIONS,
)
