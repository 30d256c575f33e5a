"""What the API server does not do for a pass: told after some times in a row, at once where it does not pass by itself.

A conflict that comes back for ever is a loop that nobody sees otherwise, with Ready as it was.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from freehold.engine.journal import StaleObject
from freehold.kube import errors as kube
from freehold.operator.metadata.record import LABEL
from freehold.reconcilers.metadata.references import Reference, Refused

PATIENCE: Final = 5
"""Times in a row that may be trouble of a moment."""
_LASTING: Final = (kube.Forbidden, kube.Invalid, kube.Unauthorized, kube.ConfigError)


class Trouble:
    """By object. In memory: another process is as patient again."""

    def __init__(self) -> None:
        self._times: Counter[tuple[str, Reference]] = Counter()

    def told(self, subject: str, reference: Reference, problem: StaleObject | kube.KubeError) -> Refused | None:
        """None while it may pass: then it is tried again soon."""
        self._times[subject, reference] += 1
        times = self._times[subject, reference]
        if times <= PATIENCE and not isinstance(problem, _LASTING):
            return None
        if isinstance(problem, kube.Forbidden):
            advice = (
                "Grant the operator list, get, create and update on configmaps in its namespace, and patch on "
                "awsmetadatas and ibmmetadatas"
            )
            return Refused("Forbidden", f"{_said(problem)}. {advice}")
        again = f", {times} times in a row" if times > 1 else ""
        message = f"{_said(problem)}{again}. Look at it: kubectl get configmaps --all-namespaces -l {LABEL}"
        return Refused("RecordNotKept", message)

    def over(self, subject: str, reference: Reference) -> None:
        del self._times[subject, reference]


def _said(problem: Exception) -> str:
    return f"{problem}: the record of what is written cannot be kept, so no tag is changed"
