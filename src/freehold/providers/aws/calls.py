"""Every request to AWS becomes one call through the port, and every failure one of the lifecycle's errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from freehold.engine.errors import CloudError, Invalid, NotFound
from freehold.engine.port import Call, Effect, Port
from freehold.engine.secret_values import SecretValue, values_in
from freehold.providers.aws import errors
from freehold.providers.aws.permissions import delete_binding
from freehold.providers.aws.permissions.delete_binding import TOO_LARGE
from freehold.providers.aws.permissions.policies import BOUND_DELETES, Deletes
from freehold.providers.aws.session import AwsSession

Json = dict[str, Any]
T = TypeVar("T")

TAGGING = frozenset({"create_tags", "tag_resources", "tag_resource", "add_tags", "tag_role", "tag_instance_profile"})
PARTS = frozenset({"create_route", "create_load_balancer_listeners"})
"""They put something into a resource of ours, which nothing can lose, and follow no write of the object."""


SECRET = frozenset(
    {
        "UserData",
        "SecretString",
        "SecretBinary",
        "RotationToken",
        "SSECustomerKey",
        "SSEKMSKeyId",
        "SSEKMSEncryptionContext",
        "KMSMasterKeyID",
    }
)
"""Parameters that the service models call sensitive, of the operations in use: never in audit, log or message."""


def is_fenced(operation: str) -> bool:
    """Whether it makes or marks a resource: not sent by a process that may have lost its object (port.FencedPort)."""
    creates = operation.startswith(("create_", "allocate_", "run_")) and operation not in PARTS
    return operation in TAGGING or creates


class Page(NamedTuple):
    """One page of a list, and the token of the next, empty at the end."""

    body: Json
    next: str


class ApiClient:
    """Sends the requests of one identity in one region through a port.

    Services and operations have botocore's names: ``ec2``, ``create_vpc``. ``subject`` is the resource, for people.
    """

    def __init__(
        self, session: AwsSession, port: Port, deletes: AwsSession | None = None, bound: Deletes = BOUND_DELETES
    ) -> None:
        """``deletes`` signs the ``bound`` ones, which AWS can bind to one owner (AwsSession.for_deletes).

        None: ``session`` signs all, and so it does where STS turns out not to give a bound session.
        """
        self.session = session
        self._port = port
        self._deletes = deletes
        self._bound = bound

    async def read(self, service: str, operation: str, subject: str, **params: Any) -> Json:
        """Send a request that changes nothing; the reply."""
        return dict(await self._send(self._call(self.session, service, operation, Effect.READ, subject, params)))

    async def write(self, service: str, operation: str, subject: str, **params: Any) -> Json:
        """Send a request that changes the cloud. Raises Unknown when the effect may have happened."""
        session = self._signing(service, operation)
        call = self._call(session, service, operation, Effect.WRITE, subject, params)
        try:
            return dict(await self._send(call, session))
        except Invalid as refused:
            if session is self.session or refused.code != TOO_LARGE:
                raise
        self._deletes = None  # nothing was sent: there was no session to sign it
        if self._bound is BOUND_DELETES:  # the policies of all owners are as large
            self.session.not_bound = delete_binding.refused()
        return await self.write(service, operation, subject, **params)

    def _signing(self, service: str, operation: str) -> AwsSession:
        bound = (service, operation) in self._bound and self.session.not_bound is None
        return (self._deletes if bound else None) or self.session

    async def listed(self, service: str, operation: str, items: str, subject: str, **params: Any) -> list[Json]:
        """All pages of a list, one call each; ``items`` names the collection. Raises ListNotFound, never NotFound."""
        pages = self.each_page(service, operation, items, subject, **params)
        return [row async for page in pages for row in page]

    async def each_page(
        self, service: str, operation: str, items: str, subject: str, **params: Any
    ) -> AsyncIterator[list[Json]]:
        """The same, page by page. An empty page is no end: only a reply without a token is."""
        seen: set[str] = set()
        token = ""
        while True:
            try:
                page: Page = await self._send(self._page(service, operation, subject, params, token))
            except NotFound as missing:
                again = f"{missing.message}. The list is asked for again"
                raise errors.ListNotFound(again, code=missing.code, request_id=missing.request_id) from missing
            yield rows(page.body, items, operation, subject)
            if not page.next:
                return
            if page.next in seen:
                raise errors.endless(operation, subject)
            token = page.next
            seen.add(token)

    def refusal(self, service: str, operation: str, verb: str, subject: str, said: Json) -> CloudError:
        """The lifecycle's error for what a successful reply says of one resource: ``Code`` and ``Message``."""
        failure = errors.Failure(400, str(said.get("Code", "")), str(said.get("Message", "")), service, operation)
        return errors.of_failure(
            failure, effect=Effect.WRITE, what=f"{verb} ({subject})",
            origin=self.session.identity.origin, scrub=self.session.scrub,
        )  # fmt: skip

    async def account(self) -> str:
        """The account of the credentials."""
        return (await self._who())["Account"]

    async def identity(self) -> str:
        """The ARN of the caller: ``arn:aws:sts::111122223333:assumed-role/name/session``."""
        return (await self._who())["Arn"]

    async def _who(self) -> Mapping[str, str]:
        """Asked once for a session: it is shared by the clients of many objects."""
        if not self.session.caller:
            asked = await self.read("sts", "get_caller_identity", self.session.identity.origin)
            self.session.caller = {name: str(asked[name]) for name in ("Account", "Arn")}
        return self.session.caller

    async def _send(self, call: Call, signing: AwsSession | None = None) -> Any:
        """Send it, once more where the credentials had expired and can be renewed."""
        session = signing or self.session
        await self._renew(session)
        used = session.access_key
        try:
            return await self._port.send(call)
        except errors.CredentialsExpired as expired:
            if not session.forget(used):
                raise self._expired(expired) from None
        await self._renew(session)
        try:
            return await self._port.send(call)
        except errors.CredentialsExpired as expired:
            raise self._expired(expired) from None

    def _expired(self, expired: errors.CredentialsExpired) -> CloudError:
        """Who we are is asked again before anything else: until there are new ones one question a pass is enough."""
        self.session.caller = {}
        return errors.denied(expired)

    async def _renew(self, session: AwsSession) -> None:
        for renewal in session.renewals():
            call = Call("sts", renewal.operation, Effect.READ, renewal.run, renewal.subject)
            await self._port.send(_mapped(session, call))

    def _call(
        self, session: AwsSession, service: str, operation: str, effect: Effect, subject: str, params: Json
    ) -> Call:
        hidden = values_in(params)

        def run() -> Any:
            return getattr(session.client(service), operation)(**(revealed(params) if hidden else params))

        fenced = effect is Effect.WRITE and is_fenced(operation)
        detail = auditable(params) if effect is Effect.WRITE else {}
        return _mapped(session, Call(service, operation, effect, run, subject, detail, fenced, hidden=hidden))

    def _page(self, service: str, operation: str, subject: str, params: Json, token: str) -> Call:
        """Of a list: its run builds the client and reads where its tokens are, which takes long the first time."""
        session = self.session

        def run() -> Page:
            token_in, token_out = session.page_tokens(service, operation)
            given = {**params, token_in: token} if token else params
            body = getattr(session.client(service), operation)(**given)
            return Page(body, str(body.get(token_out) or "") if token_out else "")

        return _mapped(session, Call(service, operation, Effect.READ, run, subject))


def _mapped(session: AwsSession, call: Call) -> Call:
    """The same call, whose ``run`` raises only the lifecycle's errors."""

    def run() -> Any:
        try:
            return call.run()
        except CloudError:
            raise
        except Exception as error:
            what = f"{call.operation.replace('_', ' ')} ({call.subject})"
            raise errors.translate(
                error, effect=call.effect, service=call.api, what=what, origin=session.identity.origin,
                scrub=session.scrub,
            ) from None  # fmt: skip

    return replace(call, run=run)


def rows(body: Json, items: str, operation: str, subject: str) -> list[Json]:
    """What a list's reply holds under ``items``. Raises Unavailable for a reply without it.

    That is no empty list, from which could be told what is gone.
    """
    found = body.get(items)
    if not isinstance(found, list):
        raise errors.no_list(operation, subject)
    return found


def revealed(value: Any) -> Any:
    """Parameters as they go to AWS."""
    if isinstance(value, SecretValue):
        return value.reveal()
    if isinstance(value, Mapping):
        return {name: revealed(each) for name, each in value.items()}
    return [revealed(each) for each in value] if isinstance(value, list) else value


def auditable(value: Any) -> Any:
    """Parameters as the audit log keeps them: without secrets."""
    if isinstance(value, str):  # nearly all: a call names hundreds of ids
        return value
    if isinstance(value, Mapping):
        return {name: "***" if name in SECRET else auditable(each) for name, each in value.items()}
    if isinstance(value, SecretValue):
        return "***"
    return [auditable(each) for each in value] if isinstance(value, list) else value
