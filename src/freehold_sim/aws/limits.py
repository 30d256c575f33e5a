"""Request limits: token buckets, one for each operation in each account and region.

https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache


@lru_cache(maxsize=4096)
def bucket_of(patterns: tuple[str, ...], operation: str) -> str | None:
    """Return the first pattern that an operation matches."""
    return next((pattern for pattern in patterns if fnmatchcase(operation, pattern)), None)


def take(
    buckets: dict[str, list[float]], limits: Mapping[str, tuple[float, float]], scope: str, operation: str, now: float
) -> bool:
    """Take a token from the bucket of an operation; return False if it is empty."""
    pattern = bucket_of(tuple(limits), operation)
    if pattern is None:
        return True
    size, rate = limits[pattern]
    level, since = buckets.get(f"{scope}/{operation}", (size, now))
    level = min(size, level + (now - since) * rate)
    enough = level >= 1
    buckets[f"{scope}/{operation}"] = [level - 1 if enough else level, now]
    return enough
