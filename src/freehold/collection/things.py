"""What can be collected, in the order in which it goes."""

from __future__ import annotations

from enum import StrEnum


class Task(StrEnum):
    """One kind of leftovers; the first three words are upstream's."""

    LOAD_BALANCER = "load-balancer"
    TARGET_GROUP = "target-group"
    SECURITY_GROUP = "security-group"
    NETWORK_INTERFACE = "network-interface"
    VOLUME = "volume"
