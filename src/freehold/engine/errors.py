"""What can go wrong at a cloud, keyed by what to do next (docs/reference/reliability.md R12 to R18).

::

    CloudError
    ├── Retryable               try again later; nothing happened
    │   ├── Throttled           slow down first (``retry_after`` seconds, when the cloud says)
    │   └── Unavailable         the cloud's fault; back off
    ├── Unknown                 the effect may have happened: resolve before any retry
    ├── InUse                   something must go first; names the blocker
    ├── NotReady                the resource is in a transition; look again soon
    ├── NotFound                it is not there (success, for a delete)
    ├── Surpassed               the cloud itself went beyond what is wanted, and does not go back: nothing is wrong
    └── NeedsPerson             retrying changes nothing: say who must do what, recheck slowly
        ├── NameTaken           somebody else's resource has the name
        ├── NotOwned            the marks do not prove that it is ours
        ├── TokenReused         the client token made something else before: find that
        ├── Quota               a limit of the account is reached
        ├── NoCapacity          no room in this place now: another place, or later
        ├── Denied              credentials or permissions
        ├── NotOffered          the partition or region has no such service
        ├── Frozen              the object is not to be changed now
        ├── Held                what the spec dropped, and nobody has pruned yet, is in it
        └── Invalid             the cloud refuses the request as such

One table per cloud maps vendor codes to this tree (``providers/<cloud>/errors.py``); nothing above the
drivers sees a vendor's exception.
"""

from __future__ import annotations

from copy import copy
from typing import Self


class CloudError(Exception):
    """A cloud call that did not do what was asked.

    ``fact`` says what was asked of which resource and what became of it, ``advice`` what to do; neither has a secret.
    ``code`` is the vendor's own code or status, kept for the audit log. ``attribute`` is the one of the request that it
    is about, empty where that is not known.
    """

    attribute = ""

    def __init__(self, fact: str, *, advice: str = "", code: str = "", request_id: str = "") -> None:
        self.fact = fact
        self.advice = advice
        self.code = code
        self.request_id = request_id
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """Fact and advice, for a person."""
        return f"{self.fact}. {self.advice}" if self.advice else self.fact

    def about(self, attribute: str) -> Self:
        """Return the same error, about this attribute of the request."""
        found = copy(self)
        found.attribute = attribute
        return found

    def with_field(self, field: str) -> CloudError:
        """Return the same error with the place in the manifest that asks for what was refused; empty: nowhere."""
        placed = copy(self)
        placed.fact = f"{field}: {self.fact}" if field else self.fact
        return placed


class Retryable(CloudError):
    """Nothing happened; the same call may succeed later."""


class Throttled(Retryable):
    """Too many requests. ``retry_after`` is in seconds, None when the cloud does not say."""

    def __init__(self, fact: str, *, retry_after: float | None = None, **said: str) -> None:
        super().__init__(fact, **said)
        self.retry_after = retry_after


class Unavailable(Retryable):
    """The cloud could not serve the call and says that it did nothing (503, connection refused)."""


class Unknown(CloudError):
    """The call may have taken effect (lost reply, 5xx on a write): look before any retry."""


class InUse(CloudError):
    """Refused because something else uses the resource; ``blocker`` names it when the cloud does."""

    def __init__(self, fact: str, *, blocker: str = "", **said: str) -> None:
        super().__init__(fact, **said)
        self.blocker = blocker

    def held_by(self, blocker: str) -> InUse:
        """Return the same refusal with what was found to be in the way."""
        held = copy(self)
        held.blocker = blocker or self.blocker
        return held


class NotReady(CloudError):
    """Refused because the resource is in the middle of a change (409 ``UPDATE_PENDING``).

    ``if_not_new``: what it means of a resource that is not new, where the cloud says the same of a new one for a while.
    ``after``: the seconds until it may be over.
    """

    def __init__(self, fact: str, *, if_not_new: CloudError | None = None, after: float = 10.0, **said: str) -> None:
        super().__init__(fact, **said)
        self.if_not_new = if_not_new
        self.after = after


class NotFound(CloudError):
    """The resource does not exist."""


class Surpassed(CloudError):
    """The cloud itself has changed an attribute beyond what is wanted, and cannot change it back: it is only said."""


class NeedsPerson(CloudError):
    """Retrying the same call cannot help; somebody has to change something."""


class NameTaken(NeedsPerson):
    """The name is in use by a resource that is not ours. ``holder`` is its id when known."""

    def __init__(self, fact: str, *, holder: str = "", **said: str) -> None:
        super().__init__(fact, **said)
        self.holder = holder


class NotOwned(NeedsPerson):
    """The marks in the cloud do not prove ownership; nothing was changed."""


class TokenReused(NeedsPerson):
    """The client token was sent before with another request, and that create may have had its effect."""


class Quota(NeedsPerson):
    """A limit of the account, region or resource is reached."""


class NoCapacity(NeedsPerson):
    """The cloud has no room for it in this place now, and made nothing: another place may have some, or a later time.

    A request for another place is sent at once; the same one again slowly.
    """


class Denied(NeedsPerson):
    """The credentials are wrong, expired beyond refresh, or lack a permission."""


class NotOffered(NeedsPerson):
    """The partition or region does not have the service."""


class Held(NeedsPerson):
    """Not sent: the cloud would refuse it while something of ours that the spec no longer wants is in it."""


class Invalid(NeedsPerson):
    """The cloud refuses the request: a value in the spec must change."""


class Frozen(NeedsPerson):
    """Not sent: the object is only looked at, until somebody asks for changes again."""
