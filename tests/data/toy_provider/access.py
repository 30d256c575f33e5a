"""How the toy cloud is reached: from the environment of a process to the account of its objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.providers.base import ConnectionContext, ObjectKind

if TYPE_CHECKING:
    from freehold.engine.clock import Clock
    from freehold.providers.access.accounts import KnownAccounts
    from freehold.providers.toy.account import ToyAccount
    from freehold.tags.tag_endpoint import TagAccounts

VARIABLE = "TOY_CLOUD"
"""The file that is the cloud: who can write it has its credentials."""


def access_of(env: Mapping[str, str], simulator: str) -> ToyAccess:
    """Read the environment. No simulator has a toy cloud."""
    return ToyAccess("" if simulator else env.get(VARIABLE, ""))


@dataclass(frozen=True)
class ToyAccess:
    """``path`` is empty where there are no credentials."""

    path: str = ""
    regions: tuple[str, ...] = ()

    @property
    def has_own(self) -> bool:
        return bool(self.path)

    def connect(self, shared: ConnectionContext) -> ToyConnection:
        return ToyConnection(self, shared)


class ToyConnection:
    """The one account that the variable names."""

    def __init__(self, access: ToyAccess, shared: ConnectionContext) -> None:
        self._access = access
        self._shared = shared

    @cached_property
    def account(self) -> ToyAccount | None:
        """None without credentials."""
        from freehold.providers.toy.account import ToyAccount

        return ToyAccount(Path(self._access.path), self._shared) if self._access.has_own else None

    def find_accounts(self, kind: ObjectKind) -> KnownAccounts:
        """All objects are in the account that the variable names."""
        from freehold.providers.access.accounts import Binding, NoCredentials, OneAccount

        if self.account is None:
            return OneAccount(NoCredentials(f"the operator has no Toy Cloud: start it with {VARIABLE}"))
        return OneAccount(Binding(self.account, kind.adapt(self.account, self._shared)))

    def tag_accounts(self, clock: Clock) -> TagAccounts:
        """No metadata object is about this cloud: its provider names no kind for tags."""
        raise NotImplementedError
