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
    └── NeedsPerson             retrying changes nothing: say who must do what, recheck slowly
        ├── NameTaken           somebody else's resource has the name
        ├── NotOwned            the marks do not prove that it is ours
        ├── TokenReused         the client token made something else before: find that
        ├── Quota               a limit of the account is reached
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


class CloudError(Exception):
    """A cloud call that did not do what was asked.

    ``message`` is fit for a person: what, which resource, what to do; never a secret.
    ``code`` is the vendor's own code or status, kept for the audit log.
    """

    def __init__(self, message: str, *, code: str = "", request_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.request_id = request_id

    def at(self, field: str) -> CloudError:
        """The same, with the place in the manifest that asks for what was refused; empty where none does."""
        placed = copy(self)
        placed.message = f"{field}: {self.message}" if field else self.message
        return placed


class Retryable(CloudError):
    """Nothing happened; the same call may succeed later."""


class Throttled(Retryable):
    """Too many requests. ``retry_after`` is in seconds, None when the cloud does not say."""

    def __init__(self, message: str, *, code: str = "", request_id: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, code=code, request_id=request_id)
        self.retry_after = retry_after


class Unavailable(Retryable):
    """The cloud could not serve the call and says that it did nothing (503, connection refused)."""


class Unknown(CloudError):
    """The call may have taken effect (lost reply, 5xx on a write): look before any retry."""


class InUse(CloudError):
    """Refused because something else uses the resource; ``blocker`` names it when the cloud does."""

    def __init__(self, message: str, *, code: str = "", request_id: str = "", blocker: str = "") -> None:
        super().__init__(message, code=code, request_id=request_id)
        self.blocker = blocker

    def held_by(self, blocker: str) -> InUse:
        """The same refusal, with what has been found to be in the way."""
        return InUse(self.message, code=self.code, request_id=self.request_id, blocker=blocker or self.blocker)


class NotReady(CloudError):
    """Refused because the resource is in the middle of a change (409 ``UPDATE_PENDING``)."""


class NotFound(CloudError):
    """The resource does not exist."""


class NeedsPerson(CloudError):
    """Retrying the same call cannot help; somebody has to change something."""


class NameTaken(NeedsPerson):
    """The name is in use by a resource that is not ours. ``holder`` is its id when known."""

    def __init__(self, message: str, *, code: str = "", request_id: str = "", holder: str = "") -> None:
        super().__init__(message, code=code, request_id=request_id)
        self.holder = holder


class NotOwned(NeedsPerson):
    """The marks in the cloud do not prove ownership; nothing was changed."""


class TokenReused(NeedsPerson):
    """The client token was sent before with another request, and that create may have had its effect."""


class Quota(NeedsPerson):
    """A limit of the account, region or resource is reached."""


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
