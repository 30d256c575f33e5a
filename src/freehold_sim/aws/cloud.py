"""One simulated AWS: finds who calls and what is asked, applies limits and policies, and calls the handler."""

from collections.abc import Mapping
from typing import Any

from freehold_sim.aws import errors, limits, pod_identity, signatures, web_identity, wire
from freehold_sim.aws.authorization import authorize
from freehold_sim.aws.call import Call, Operation, Refused, not_served, unserved
from freehold_sim.aws.credentials import Principal, Scope, administrator, scope_of_request
from freehold_sim.aws.effects import EFFECTS, UNDO
from freehold_sim.aws.iam import cluster_api
from freehold_sim.aws.protocols.invalid import Invalid
from freehold_sim.aws.services import OPERATIONS
from freehold_sim.aws.sessions import principal_of
from freehold_sim.aws.settings import Settings
from freehold_sim.aws.strangers import Strangers
from freehold_sim.aws.tokens import idempotent
from freehold_sim.aws.world import World, scope_of
from freehold_sim.clock import Clock, WallClock
from freehold_sim.faults import Effect, Fault
from freehold_sim.flow import CallFlow, Identified
from freehold_sim.http import Request, Response

_REQUEST_ID = "00000000-0000-4000-a000-000000000000"


class SimulatedAWS(CallFlow):
    """All accounts and regions of one AWS. `strangers` acts as other users, `faults` makes calls fail."""

    def __init__(
        self,
        clock: Clock,
        settings: Settings | None = None,
        *,
        seed: int = 1,
        wall: Clock | None = None,
        operations: Mapping[str, Mapping[str, Operation]] = OPERATIONS,
    ) -> None:
        super().__init__(clock)
        self.settings = settings or Settings()
        self.world = World(seed, EFFECTS)
        self._wall = wall or WallClock()
        self.operations = operations
        self.strangers = Strangers(self)

    @property
    def data(self) -> dict[str, Any]:
        return self.world.data

    @data.setter
    def data(self, value: dict[str, Any]) -> None:
        self.world.data = value

    @property
    def touched(self) -> bool:
        return self.world.touched

    @touched.setter
    def touched(self, changed: bool) -> None:
        self.world.touched = changed

    def settle_world(self, now: float) -> None:
        self.world.settle(now)

    def resources(self) -> list[dict[str, Any]]:
        return self.strangers.resources()

    def prepare(self) -> None:
        """Create the roles and instance profiles of clusterawsadm."""
        cluster_api.bootstrap(lambda operation, params: self.strangers.call("iam", operation, params))

    def foreign_act(self, verb: str, body: dict[str, Any]) -> Any:
        return self.strangers.act(verb, body)

    # -- what is asked ----------------------------------------------------------------------------------------

    def identify(self, request: Request) -> Identified | Response:
        if pod_identity.is_asked(request):
            return Identified(pod_identity.OPERATION, True, (None, None, Scope("", "", "eks-auth")))
        scope = scope_of_request(request) or web_identity.scope_of_unsigned(request)
        if scope is None:
            return Response(
                403, b"<ErrorResponse><Error><Code>MissingAuthenticationToken</Code></Error></ErrorResponse>"
            )
        presigned = signatures.is_presigned(request)
        asked = wire.identify(signatures.without(request) if presigned else request, scope)
        if asked is None or (presigned and asked.service.name != "sts"):
            what = f"presigned requests of {scope.service}" if presigned else f"service {scope.service}"
            text = f"The simulated AWS has no {what}".encode()
            return Response(501, text, {"Content-Type": "text/plain"})
        if asked.operation is None:
            code, status = errors.CODES[asked.service.name].no_action
            refused = Refused(code, f"The action {asked.action} is not valid for this web service.", status)
            return wire.error(asked, refused, _REQUEST_ID)
        served = self.operations.get(asked.service.name, {}).get(asked.action)
        if served is None:
            return wire.error(asked, not_served(f"{asked.service.name}.{asked.action}"), _REQUEST_ID)
        return Identified(f"{asked.service.name}.{asked.action}", served.writes, (asked, served, scope))

    def limit(self, found: Identified, request: Request) -> Fault | None:
        _, _, scope = found.route
        account = self._account(scope.access_key)
        buckets = self.data["buckets"]
        if limits.take(buckets, self.settings.limits, scope_of(account, scope.region), found.name, self.clock.now()):
            return None
        return Fault(Effect.THROTTLE, found.name)

    def _account(self, access_key: str) -> str:
        session = self.data["sessions"].get(access_key, {})
        return str(self.settings.access_keys.get(access_key) or session.get("account", ""))

    def secret_of(self, access_key: str) -> str | None:
        """Return the secret of an access key, None where any will do."""
        of_session: str | None = self.data["sessions"].get(access_key, {}).get("secret")
        return of_session or self.settings.secret_keys.get(access_key)

    def refusal(self, found: Identified, fault: Fault) -> Response:
        asked, _, _ = found.route
        if asked is None:
            return Response(400, f"{fault.message or fault.effect}\n".encode(), {"Content-Type": "text/plain"})
        return wire.error(asked, errors.of_fault(asked.service.name, asked.action, fault), self._request_id())

    def _request_id(self) -> str:
        return f"{len(self.calls) + 1:08x}-0000-4000-a000-000000000000"

    # -- the answer -------------------------------------------------------------------------------------------

    def serve(self, found: Identified, request: Request, fault: Fault | None, now: float, actor: str) -> Response:
        if found.name == pod_identity.OPERATION:
            return self._serve_pod(request, now, actor)
        asked, served, scope = found.route
        service, request_id = asked.service.name, self._request_id()
        try:
            if signatures.is_presigned(request):
                signatures.check(request, self.secret_of(scope.access_key), self._wall.now())
            who = self._principal(scope, service, actor)
            params = wire.parameters(asked)
            if unknown := unserved(params, {**served.takes, "DryRun": {}}):
                raise not_served(f"the parameter {unknown} of {service}.{asked.action}")
            wall = self._wall.now()
            region = "" if service == "iam" else scope.region  # IAM is global
            call = Call(self.world, self.settings, service, asked.action, params, who, region, now, wall, fault, actor)
            values = self._run(call, served)
        except Invalid as invalid:
            return wire.error(asked, errors.of_invalid(service, invalid), request_id)
        except Refused as refused:
            return wire.error(asked, refused, request_id)
        if served.writes:
            self.world.touched = True
        return self.reply(asked, values, request_id)

    def _serve_pod(self, request: Request, now: float, actor: str) -> Response:
        service, _, operation = pod_identity.OPERATION.partition(".")
        nobody, wall = web_identity.NOBODY, self._wall.now()
        call = Call(self.world, self.settings, service, operation, {}, nobody, "", now, wall, None, actor)
        self.world.touched = True
        return pod_identity.answer(call, request)

    def reply(self, asked: wire.Asked, values: Mapping[str, Any], request_id: str) -> Response:
        """Return a successful reply; a test may look at its values here."""
        return wire.reply(asked, values, request_id)

    def _principal(self, scope: Any, service: str, actor: str) -> Principal:
        if actor != "api":
            return administrator(self._account(scope.access_key))
        if not scope.access_key:
            return web_identity.NOBODY
        if scope.region not in self.settings.regions:
            raise Refused("AuthFailure", f"The region {scope.region} is not one of this simulated AWS", 401)
        return principal_of(self.world, self.settings, scope, service, self._wall.now())

    def _run(self, call: Call, served: Operation) -> dict[str, Any]:
        if call.actor == "api":
            authorize(call)
        if call.params.get("DryRun"):
            raise Refused("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)
        try:
            if served.token is not None:
                return idempotent(call, served.token, served.handler)
            return served.handler(call)
        except Refused:
            self._undo(call)
            raise

    def _undo(self, call: Call) -> None:
        """Take back what a call made before it was refused: AWS makes all of it or nothing."""
        for record in reversed(call.made):
            if record["kind"] in UNDO:
                UNDO[record["kind"]](self.world, record, call.now)
            self.world.forget(record)
