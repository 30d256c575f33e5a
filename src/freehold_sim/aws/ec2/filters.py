"""The filters that EC2 documents for an operation, and the refusal of one that is not served.

botocore's models have no list of them: their names are in the documentation of the parameter.
"""

import html
import re
from functools import cache

from freehold_sim.aws.call import Refused, not_served
from freehold_sim.aws.models import members, service

_NAME = re.compile(r"<li>\s*<p>\s*<code>([^<]+)</code>")


@cache
def documented(operation: str) -> frozenset[str]:
    """Return the names that EC2 documents; `tag:<key>` may be spelled `tag`."""
    shape = service("ec2").model.operation_model(operation).input_shape
    found = [members(shape)[name] for name in ("Filters", "Filter") if name in members(shape)]
    return frozenset(_NAME.findall(html.unescape(found[0].documentation))) if found else frozenset()


def knows_tags(operation: str) -> bool:
    return any(name.startswith("tag") for name in documented(operation))


def refusal(operation: str, name: str) -> Refused:
    """Return how a filter is refused: what EC2 has and this simulator lacks is named."""
    if name in documented(operation):
        return not_served(f"the filter {name} of ec2.{operation}")
    return Refused("InvalidParameterValue", f"The filter '{name}' is invalid")
