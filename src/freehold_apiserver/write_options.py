"""The options of writes: from the query of a request, or from the body of a DELETE."""

from __future__ import annotations

from dataclasses import dataclass

from freehold_apiserver.store import Json


@dataclass(frozen=True)
class WriteOptions:
    """Query parameters of every write. ``field_validation`` is Strict, Warn or Ignore.

    ``field_manager`` is what the client calls itself; ``user_agent`` stands in for it where owners are recorded.
    """

    dry_run: bool = False
    field_validation: str = "Warn"
    duplicates: tuple[str, ...] = ()
    field_manager: str = ""
    user_agent: str = ""
    force: bool = False

    def shown(self, operation: str) -> Json:
        """Return them as CreateOptions or UpdateOptions; those of a patch are the ones of what it does."""
        given = {
            "dryRun": ["All"] if self.dry_run else None, "fieldManager": self.field_manager or None,
            "fieldValidation": self.field_validation,
        }  # fmt: skip
        return _options(f"{operation.title()}Options", given)


@dataclass(frozen=True)
class DeleteOptions:
    """The body of a DELETE. Empty preconditions are not checked."""

    dry_run: bool = False
    uid: str = ""
    resource_version: str = ""
    propagation: str = "Background"

    def shown(self) -> Json:
        """Return them as DeleteOptions."""
        checked = {"uid": self.uid, "resourceVersion": self.resource_version}
        given = {
            "dryRun": ["All"] if self.dry_run else None, "propagationPolicy": self.propagation,
            "preconditions": {name: value for name, value in checked.items() if value} or None,
        }  # fmt: skip
        return _options("DeleteOptions", given)


def _options(kind: str, given: Json) -> Json:
    present = {name: value for name, value in given.items() if value is not None}
    return {"kind": kind, "apiVersion": "meta.k8s.io/v1", **present}
