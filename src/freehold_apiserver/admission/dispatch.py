"""Asks webhooks about a write: the mutating ones one after another, then the validating ones at once.

The steps are those of k8s.io/apiserver ``pkg/admission/plugin/webhook/{mutating,validating}/dispatcher.go``.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import uuid
from dataclasses import replace

from freehold_apiserver import errors, patches
from freehold_apiserver.admission import review
from freehold_apiserver.admission.attributes import Attributes
from freehold_apiserver.admission.conditions import conditions_hold
from freehold_apiserver.admission.hooks import GROUP, Hook, Labels, find_invocation, read_hooks
from freehold_apiserver.admission.review import Verdict
from freehold_apiserver.conversion import convert
from freehold_apiserver.errors import ApiError, Notes
from freehold_apiserver.resources import Registry, Resource
from freehold_apiserver.store import Change, Json, Store
from freehold_apiserver.structural import default
from freehold_apiserver.webhook_client import CallFailed, WebhookClient

_LOG = logging.getLogger(__name__)
MUTATING = f"{GROUP}/mutatingwebhookconfigurations"
VALIDATING = f"{GROUP}/validatingwebhookconfigurations"


class Admission:
    """The webhooks that are configured. A write that begins while there are none costs nothing."""

    def __init__(self, store: Store, registry: Registry, client: WebhookClient) -> None:
        self._store = store
        self._registry = registry
        self._client = client
        self._mutating: tuple[Hook, ...] = ()
        self._validating: tuple[Hook, ...] = ()
        self._read(MUTATING)
        self._read(VALIDATING)
        store.observe(self._follow)

    @property
    def mutates(self) -> bool:
        return bool(self._mutating)

    @property
    def validates(self) -> bool:
        return bool(self._validating)

    def _follow(self, collection: str, change: Change) -> None:
        self._read(collection)

    def _read(self, collection: str) -> None:
        if collection not in (MUTATING, VALIDATING):
            return
        # In the order of the configurations' names, then in the order within them.
        hooks = tuple(hook for stored in self._store.scan(collection) for hook in read_hooks(stored.obj))
        if collection == MUTATING:
            self._mutating = hooks
        else:
            self._validating = hooks

    async def mutate(self, asked: Attributes, notes: Notes) -> Json | None:
        """Return the object as the mutating webhooks want it; the very one that was given if they change nothing.

        Raises ApiError: a denial, or a webhook that fails and may not.
        """
        if not self._mutating or _is_exempt(asked):
            return asked.obj
        run = _Mutations(self, asked, notes)
        hooks = self._mutating
        await run.call(hooks, again=False)
        if run.changed:
            await run.call(hooks, again=True)
        return run.asked.obj

    async def validate(self, asked: Attributes, notes: Notes) -> None:
        """Ask the validating webhooks. Raises ApiError: a denial, or a webhook that fails and may not."""
        if not self._validating or _is_exempt(asked):
            return
        calls = [(hook, found[1]) for hook in self._validating if (found := await self.prepare(hook, asked))]
        outcomes = await asyncio.gather(*(self._validated(*call, notes) for call in calls), return_exceptions=True)
        for problem in outcomes:
            if isinstance(problem, BaseException):
                raise problem

    async def _validated(self, hook: Hook, request: Json, notes: Notes) -> None:
        verdict = await self.ask(hook, request, notes, mutating=False)
        if verdict is not None and not verdict.allowed:
            raise review.build_denial(hook.name, verdict.result)

    async def prepare(self, hook: Hook, asked: Attributes) -> tuple[Resource, Json] | None:
        """Build the request for a webhook, in the version that it takes; None if it is not called."""
        resource = find_invocation(hook, asked, self._namespace_labels, self._registry)
        if resource is None:
            return None
        given = [each for each in (asked.obj, asked.old) if each is not None]
        converted = iter(await convert(given, asked.resource, resource))
        obj, old = (next(converted) if each is not None else None for each in (asked.obj, asked.old))
        request = review.build_request(asked, resource, obj, old, str(uuid.uuid4()))
        if hook.conditions and not conditions_hold(hook.conditions, asked, request, fails_open=hook.fails_open):
            return None
        return resource, request

    async def ask(self, hook: Hook, request: Json, notes: Notes, *, mutating: bool) -> Verdict | None:
        """Return the verdict of a webhook; None where it fails and may. Raises 500 where it may not."""
        try:
            answer = await self._client.post(hook.target, review.build_review(request, hook.review), hook.timeout)
            verdict = review.read_verdict(answer, request["uid"], hook.review, mutating=mutating)
        except CallFailed as problem:
            if hook.fails_open:
                _LOG.warning("failed calling webhook %s, failing open: %s", hook.name, problem)
                return None
            raise review.failed_call(hook.name, str(problem)) from problem
        notes.add(verdict.warnings)
        return verdict

    def _namespace_labels(self, name: str) -> Labels | None:
        found = self._store.get("/namespaces", ("", name))
        return None if found is None else found.obj["metadata"].get("labels") or {}


class _Mutations:
    """The mutating webhooks' work on one write. ``asked`` has the object as it is after those that were called."""

    def __init__(self, admission: Admission, asked: Attributes, notes: Notes) -> None:
        self._admission = admission
        self.asked = asked
        self._notes = notes
        self.changed = False
        self._called: set[str] = set()
        """Those that want to be called again when a later one changes the object."""
        self._again: set[str] = set()

    async def call(self, hooks: tuple[Hook, ...], *, again: bool) -> None:
        """Call each that matches; ``again`` only those that asked for it and saw an older object."""
        for hook in hooks:
            if again and hook.uid not in self._again:
                continue
            found = await self._admission.prepare(hook, self.asked)
            if found is None:
                continue
            if await self._call(hook, *found):
                self.changed = True
                self._again |= self._called
                self._called = set()
            if hook.reinvoked:
                self._called.add(hook.uid)

    async def _call(self, hook: Hook, resource: Resource, request: Json) -> bool:
        """Call one. Returns whether it changed the object."""
        verdict = await self._admission.ask(hook, request, self._notes, mutating=True)
        if verdict is None:
            return False
        if not verdict.allowed:
            raise review.build_denial(hook.name, verdict.result)
        if not verdict.patch:
            return False
        obj = request["object"]
        if obj is None:
            raise errors.internal(
                f'admission webhook "{hook.name}" attempted to modify the object, which is not supported for this '
                "operation"
            )
        patched = _patched(obj, verdict)
        default(patched, resource.schema)
        if patched == obj:
            return False
        back = await convert([patched], resource, self.asked.resource)
        self.asked = replace(self.asked, obj=back[0])
        return True


def _patched(obj: Json, verdict: Verdict) -> Json:
    """Apply the patch of a webhook. Raises 500 where it cannot be: the failure policy is not for that."""
    try:
        patched = patches.json_patch(copy.deepcopy(obj), verdict.patch)
    except ApiError as problem:
        raise errors.internal(problem.message) from problem
    identity = (obj["apiVersion"], obj["kind"])
    if (patched.get("apiVersion"), patched.get("kind")) != identity or not isinstance(patched.get("metadata"), dict):
        raise errors.internal("the patch of a webhook may not change apiVersion, kind or the type of metadata")
    return patched


def _is_exempt(asked: Attributes) -> bool:
    """Webhooks are not asked about webhooks: a broken one could not be mended."""
    return asked.resource.group == GROUP
