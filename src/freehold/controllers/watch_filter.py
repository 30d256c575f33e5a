"""The watch filter: which objects an operator serves, by the label of Cluster API for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from freehold.api.names import WATCH_FILTER_LABEL


@dataclass(frozen=True)
class WatchFilter:
    """A filter of objects by a value of the label; an empty value lets all pass.

    As Cluster API's ResourceHasFilterLabel (https://pkg.go.dev/sigs.k8s.io/cluster-api/util/predicates), but it holds
    when an object's turn comes. A selector of the watch would let an object that loses the label arrive as deleted.
    """

    value: str = ""

    def passes(self, raw: Mapping[str, Any]) -> bool:
        """Return whether the object is served. Another one gets no write of any kind."""
        return not self.value or (raw["metadata"].get("labels") or {}).get(WATCH_FILTER_LABEL) == self.value

    @property
    def selector(self) -> str:
        """The label selector of a list of the same objects."""
        return f"{WATCH_FILTER_LABEL}={self.value}" if self.value else ""


NO_FILTER = WatchFilter()
