"""Amazon Resource Names, which the engine uses as targets on AWS.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_ARN = re.compile(r"arn:(aws[a-z-]*):([a-z0-9-]+):([a-z0-9-]*):(\d{12}|):(.+)", re.DOTALL)


class Arn(NamedTuple):
    """An ARN. ``resource`` is all after the account: ``vpc/vpc-1``, ``loadbalancer/net/name/hash``, a bucket's name."""

    partition: str
    service: str
    region: str
    account: str
    resource: str

    def __str__(self) -> str:
        return f"arn:{self.partition}:{self.service}:{self.region}:{self.account}:{self.resource}"

    @staticmethod
    @lru_cache(maxsize=1 << 17)  # a pass over a fleet parses each ARN seven times: 100,000 fit
    def parse(text: str) -> Arn | None:
        """Return the ARN in ``text``; None where it is none: targets come from journals, which a person may edit."""
        found = _ARN.fullmatch(text)
        return Arn(*found.groups()) if found else None

    @property
    def type(self) -> str:
        """The ``vpc`` of ``vpc/vpc-1``; empty where the resource has no type (a bucket)."""
        head, slash, _ = self.resource.partition("/")
        return head if slash else ""

    @property
    def id(self) -> str:
        """The ``vpc-1`` of ``vpc/vpc-1``, the ``net/name/hash`` of a load balancer, the name of a bucket."""
        return self.resource.partition("/")[2] or self.resource
