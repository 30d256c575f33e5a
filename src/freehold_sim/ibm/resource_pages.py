"""Lists of Resource Controller: filters, and pages whose token contains the filters.

Source: docs/reference/ibm-cloud.md#resource-controller.
"""

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from freehold_sim.ibm import errors
from freehold_sim.ibm.call import Call, Reply
from freehold_sim.ibm.world import Record

Filters = Mapping[str, str]
PAGES = "limit start"
UPDATED = "updated_from updated_to"


def updated_within(record: Record, filters: Filters) -> bool:
    """Apply `updated_from` and `updated_to`."""
    moment = float(record["updated_at"])
    return _moment(filters, "updated_from", moment) <= moment <= _moment(filters, "updated_to", moment)


def _moment(filters: Filters, key: str, default: float) -> float:
    if not (text := filters.get(key)):
        return default
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise errors.controller(400, f"{key} is not a date: {text}") from None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def equal(have: Filters, filters: Filters) -> bool:
    """Return whether each field of `have` that is filtered for has the wanted value."""
    return all(filters[key] == value for key, value in have.items() if key in filters)


def page(
    call: Call,
    path: str,
    records: Iterable[Record],
    matches: Callable[[Record, Filters], bool],
    render: Callable[[Call, Record], dict[str, Any]],
) -> Reply:
    """Answer one page. With `start` the other parameters are ignored, because the token contains them."""
    filters, after = dict(call.query), 0
    if token := filters.get("start"):
        try:
            after, filters = json.loads(base64.urlsafe_b64decode(token.encode()))
        except (ValueError, TypeError):
            raise errors.controller(400, f"start is not a page token: {token}") from None
    text = filters.get("limit", "10")
    if not text.isdigit() or not 1 <= int(text) <= 100:
        raise errors.controller(400, f"limit must be between 1 and 100, not {text}")
    limit = min(int(text), call.settings.page_size or 100)
    rest = [r for r in call.listed(records) if r["serial"] > after and matches(r, filters)]
    following = ""
    if len(rest) > limit:
        state = json.dumps([rest[limit - 1]["serial"], filters]).encode()
        following = f"{path}?start={base64.urlsafe_b64encode(state).decode().replace('=', '%3D')}"
    shown = [render(call, r) for r in rest[:limit]]
    return Reply(200, {"rows_count": len(shown), "next_url": following, "resources": shown})
