"""What the operator says for all metadata objects: how often, how much without a person, and which keys are left alone.

A spec can say how often itself; nothing in a spec loosens the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from freehold.tags.policy.approval import DEFAULT_APPROVE_ABOVE
from freehold.tags.policy.protected import IgnoreList
from freehold.tags.policy.sync_period import DEFAULT


@dataclass(frozen=True)
class Configuration:
    """``period``: seconds between looks at an object that does not say.

    ``approve_above``: resources on which foreign values may be overwritten, or tags removed, without an approval.
    """

    period: float = DEFAULT
    approve_above: int = DEFAULT_APPROVE_ABOVE
    ignored: IgnoreList = field(default_factory=IgnoreList)
