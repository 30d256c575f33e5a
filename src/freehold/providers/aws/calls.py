"""The client: each request to AWS becomes one call through the port, each failure one of the engine's errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple, TypeVar

from freehold.engine.errors import CloudError, Invalid, NotFound
from freehold.engine.port import Call, Effect, Port
from freehold.engine.secret_values import SecretValue, values_in
from freehold.providers.aws import errors
from freehold.providers.aws.credentials import Keys
from freehold.providers.aws.permissions import delete_binding
from freehold.providers.aws.permissions.delete_binding import TOO_LARGE
from freehold.providers.aws.permissions.policies import BOUND_DELETES, Deletes
from freehold.providers.aws.service_models import page_tokens
from freehold.providers.aws.session import AwsSession

Json = dict[str, Any]
T = TypeVar("T")

TAGGING = frozenset(
    {
        "create_tags",
        "tag_resources",
        "tag_resource",
        "add_tags",
        "tag_role",
        "tag_instance_profile",
        "tag_open_id_connect_provider",
    }
)
PARTS = frozenset({"create_route", "create_load_balancer_listeners"})
"""Creates that are not fenced: a part is in a resource of ours, never lost, and no write of the object precedes it."""


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
"""Sensitive parameters of the operations in use, as the service models mark them: never in audit, log or message."""


def is_fenced(operation: str) -> bool:
    """Return whether it makes or marks a resource: not sent once the object may be lost (port.FencedPort)."""
    creates = operation.startswith(("create_", "allocate_", "run_")) and operation not in PARTS
    return operation in TAGGING or creates


class ListPage(NamedTuple):
    """One page of a list, and the token of the next, empty at the end."""

    body: Json
    next: str


class AwsClient:
    """Requests of one identity in one region, sent through a port.

    Services and operations have botocore's names: ``ec2``, ``create_vpc``. ``subject`` is the resource, for people.
    """

    def __init__(
        self, session: AwsSession, port: Port, deletes: AwsSession | None = None, bound: Deletes = BOUND_DELETES
    ) -> None:
        """Sign the ``bound`` deletes, which AWS can bind to one owner, with ``deletes`` (AwsSession.owner_session).

        Without ``deletes``, and where STS gives no bound session, ``session`` signs all calls.
        """
        self.session = session
        self._port = port
        self._deletes = deletes
        self._bound = bound

    async def read(self, service: str, operation: str, subject: str, **params: Any) -> Json:
        """Send a request that changes nothing. Return the reply."""
        return dict(await self._send(self._new_call(self.session, service, operation, Effect.READ, subject, params)))

    async def write(self, service: str, operation: str, subject: str, **params: Any) -> Json:
        """Send a request that changes the cloud. Raises Unknown when the effect may have happened."""
        session = self._session_for(service, operation)
        call = self._new_call(session, service, operation, Effect.WRITE, subject, params)
        try:
            return dict(await self._send(call, session))
        except Invalid as refused:
            if session is self.session or refused.code != TOO_LARGE:
                raise
        self._deletes = None  # the write itself was not sent: there was no session to sign it
        if self._bound is BOUND_DELETES:  # all owners' policies have the same size
            self.session.not_bound = delete_binding.refused_by_sts()
        return await self.write(service, operation, subject, **params)

    def _session_for(self, service: str, operation: str) -> AwsSession:
        bound = (service, operation) in self._bound and self.session.not_bound is None
        return (self._deletes if bound else None) or self.session

    async def read_list(self, service: str, operation: str, items: str, subject: str, **params: Any) -> list[Json]:
        """Return all pages of a list, one call each; ``items`` is its member. Raises ListNotFound, never NotFound."""
        pages = self.each_page(service, operation, items, subject, **params)
        return [row async for page in pages for row in page]

    async def each_page(
        self, service: str, operation: str, items: str, subject: str, **params: Any
    ) -> AsyncIterator[list[Json]]:
        """Yield a list page by page. An empty page does not end it: only a reply without a token does."""
        seen: set[str] = set()
        token = ""
        while True:
            try:
                page: ListPage = await self._send(self._page_call(service, operation, subject, params, token))
            except NotFound as missing:
                again = f"{missing.message}. The list is asked for again"
                raise errors.ListNotFound(again, code=missing.code, request_id=missing.request_id) from missing
            yield require_rows(page.body, items, operation, subject)
            if not page.next:
                return
            if page.next in seen:
                raise errors.endless_list_error(operation, subject)
            token = page.next
            seen.add(token)

    def refusal(self, service: str, operation: str, verb: str, subject: str, said: Json) -> CloudError:
        """Return the engine's error for one resource that a successful reply calls failed: ``Code`` and ``Message``."""
        failure = errors.AwsFailure(400, str(said.get("Code", "")), str(said.get("Message", "")), service, operation)
        return errors.translate_failure(
            failure, effect=Effect.WRITE, what=f"{verb} ({subject})",
            origin=self.session.identity.origin, scrub=self.session.scrub,
        )  # fmt: skip

    async def account(self) -> str:
        """Return the account of the credentials."""
        return (await self._read_caller())["Account"]

    async def identity(self) -> str:
        """Return the ARN of the caller: ``arn:aws:sts::111122223333:assumed-role/name/session``."""
        return (await self._read_caller())["Arn"]

    async def prepare_keys(self, life: float) -> Keys:
        """Return the keys that requests are signed with, renewed if they may end within ``life`` seconds."""
        self.session.require_life(life)
        await self._renew(self.session)
        return self.session.keys

    async def _read_caller(self) -> Mapping[str, str]:
        """Ask once for a session, which the clients of many objects share. Who asks meanwhile waits for the answer."""
        async with self.session.asking_caller:
            if not self.session.caller:
                asked = await self.read("sts", "get_caller_identity", self.session.identity.origin)
                self.session.caller = {name: str(asked[name]) for name in ("Account", "Arn")}
            return self.session.caller

    async def _send(self, call: Call, signing: AwsSession | None = None) -> Any:
        """Send the call; send it once more where the credentials had expired and could be renewed."""
        session = signing or self.session
        await self._renew(session)
        used = session.access_key
        try:
            return await self._port.send(call)
        except errors.CredentialsExpired as expired:
            if not session.forget(used):
                raise self._forget_caller(expired) from None
        await self._renew(session)
        try:
            return await self._port.send(call)
        except errors.CredentialsExpired as expired:
            raise self._forget_caller(expired) from None

    def _forget_caller(self, expired: errors.CredentialsExpired) -> CloudError:
        """Return the refusal and forget the caller, so that a pass without new credentials ends at that question."""
        self.session.caller = {}
        return errors.to_denied(expired)

    async def _renew(self, session: AwsSession) -> None:
        for renewal in session.due_renewals():
            call = Call("sts", renewal.operation, Effect.READ, renewal.run, renewal.subject)
            await self._port.send(_map_errors(session, call))

    def _new_call(
        self, session: AwsSession, service: str, operation: str, effect: Effect, subject: str, params: Json
    ) -> Call:
        hidden = values_in(params)

        def run() -> Any:
            return getattr(session.client(service), operation)(**(reveal_secrets(params) if hidden else params))

        fenced = effect is Effect.WRITE and is_fenced(operation)
        detail = redact_secrets(params) if effect is Effect.WRITE else {}
        return _map_errors(session, Call(service, operation, effect, run, subject, detail, fenced, hidden=hidden))

    def _page_call(self, service: str, operation: str, subject: str, params: Json, token: str) -> Call:
        """Return the call for one page. Its run builds the client and looks up its paging tokens, at first slowly."""
        session = self.session

        def run() -> ListPage:
            token_in, token_out = page_tokens(service, operation)
            given = {**params, token_in: token} if token else params
            body = getattr(session.client(service), operation)(**given)
            return ListPage(body, str(body.get(token_out) or "") if token_out else "")

        return _map_errors(session, Call(service, operation, Effect.READ, run, subject))


def _map_errors(session: AwsSession, call: Call) -> Call:
    """Return the same call with a ``run`` that raises only the engine's errors."""

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

    return call._replace(run=run)


def require_rows(body: Json, items: str, operation: str, subject: str) -> list[Json]:
    """Return what a list's reply holds under ``items``. Raises Unavailable for a reply without it.

    Such a reply is no empty list, so it does not show that anything is gone.
    """
    found = body.get(items)
    if not isinstance(found, list):
        raise errors.missing_list_error(operation, subject)
    return found


def reveal_secrets(value: Any) -> Any:
    """Return parameters as they go to AWS, with secrets in clear."""
    if isinstance(value, SecretValue):
        return value.reveal()
    if isinstance(value, Mapping):
        return {name: reveal_secrets(each) for name, each in value.items()}
    return [reveal_secrets(each) for each in value] if isinstance(value, list) else value


def redact_secrets(value: Any) -> Any:
    """Return parameters as the audit log keeps them, without secrets."""
    if isinstance(value, str):  # the common case: a call names hundreds of ids
        return value
    if isinstance(value, Mapping):
        return {name: "***" if name in SECRET else redact_secrets(each) for name, each in value.items()}
    if isinstance(value, SecretValue):
        return "***"
    return [redact_secrets(each) for each in value] if isinstance(value, list) else value
