"""A log of where AWS lately had no capacity, so that the next machine asks elsewhere first.

It is a hint: after :data:`MAX_AGE` the place is tried again, and a new process begins with an empty one.
"""

from __future__ import annotations

from collections.abc import Callable

MAX_AGE = 300.0
"""Seconds for which a refusal counts. Capacity comes and goes in minutes
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html#troubleshooting-launch-capacity)."""


class CapacityLog:
    """Refusals by instance type and subnet, shared by the clients of many objects."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._refused: dict[tuple[str, str], float] = {}

    def note(self, instance_type: str, subnet: str) -> None:
        """Note that AWS had no room for the type in the subnet's zone, or none for an address in the subnet."""
        self._refused = {place: at for place, at in self._refused.items() if self._counts(at)}
        self._refused[instance_type, subnet] = self._now()

    def full_subnets(self, instance_type: str) -> frozenset[str]:
        """Return the subnets in which the type was refused lately."""
        return frozenset(
            subnet for (name, subnet), at in self._refused.items() if name == instance_type and self._counts(at)
        )

    def _counts(self, at: float) -> bool:
        return 0 <= self._now() - at < MAX_AGE
