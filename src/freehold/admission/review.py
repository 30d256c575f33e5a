"""Review: an AdmissionReview in, the answer out. Pure.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-request-and-response
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

from freehold.admission.rules import Findings, Rules, is_left_alone, is_only_warned
from freehold.admission.webhook_configuration import list_checked_annotations
from freehold.api.parse import SpecProblem
from freehold.api.served import ServedName
from freehold.providers.objects.spec_problems import join_problems

Json = dict[str, Any]
_API_VERSION: Final = "admission.k8s.io/v1"
_LONGEST_WARNING: Final = 256
"""Longer ones may be cut by the API server (see the source above)."""
_HALF: Final = re.compile("[\ud800-\udfff]")
_LOG = logging.getLogger(__name__)


class NotAReview(ValueError):
    """A request that is no AdmissionReview of version 1."""


class Verdict(StrEnum):
    """Kinds of answers, for metrics."""

    ALLOWED = "allowed"
    WARNED = "warned"
    DENIED = "denied"
    ERROR = "error"
    """A rule has a defect: the object is allowed unchecked."""


@dataclass(frozen=True)
class Question:
    """A write that the API server asks about. ``old`` is None in a create."""

    uid: str
    operation: str
    subresource: str
    group: str
    kind: str
    new: Json
    old: Json | None


@dataclass(frozen=True)
class Answer:
    """The answer to a question, with the problems for which it is refused."""

    verdict: Verdict
    problems: tuple[SpecProblem, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_allowed(self) -> bool:
        return self.verdict is not Verdict.DENIED


def parse_review(body: Any) -> Question:
    """Parse an AdmissionReview. Raises NotAReview."""
    request = body.get("request") if isinstance(body, dict) else None
    if not isinstance(request, dict) or body.get("apiVersion") != _API_VERSION or not request.get("uid"):
        raise NotAReview(f"the body is no AdmissionReview of {_API_VERSION} with a request and its uid")
    operation, kind, old = request.get("operation"), request.get("kind"), request.get("oldObject")
    writes = operation in ("CREATE", "UPDATE")
    new = request.get("object") if writes else {}
    if (
        not isinstance(operation, str)
        or not isinstance(kind, dict)
        or not all(map(_is_text, [request["uid"], *kind.values()]))
    ):
        raise NotAReview("the request names no operation, or no kind, or its uid is no text")
    if not isinstance(new, dict) or (writes and not _is_object(new)):
        raise NotAReview("the request has no object with metadata as Kubernetes writes it")
    if operation == "UPDATE" and not _is_object(old):
        raise NotAReview("the request has no oldObject with metadata as Kubernetes writes it")
    return Question(
        str(request["uid"]),
        operation,
        str(request.get("subResource") or ""),
        str(kind.get("group") or ""),
        str(kind.get("kind") or ""),
        new,
        old if operation == "UPDATE" else None,
    )


def _is_object(raw: Any) -> bool:
    """Return whether its metadata has the form that an API server has made sure of before it asks."""
    metadata = raw.get("metadata") if isinstance(raw, dict) else None
    if not isinstance(metadata, dict):
        return False
    texts = [metadata.get(each, "") for each in ("name", "namespace", "generateName", "uid")]
    for each in ("annotations", "labels"):
        entries = metadata.get(each) or {}
        if not isinstance(entries, dict):
            return False
        texts += [*entries, *entries.values()]
    return all(map(_is_text, texts))


def _is_text(value: Any) -> bool:
    """Return whether it is a string that can be sent; JSON may have halves of a character."""
    return isinstance(value, str) and not _HALF.search(value)


class NameSearch(Protocol):
    """A search for another object that has the name of a new one."""

    async def find_problem(self, group: str, kind: str, raw: Json) -> SpecProblem | None: ...


class Reviewer:
    """Answers questions by rules. ``kinds`` are those of the rules; ``taken`` looks at the other objects, if anybody
    does.
    """

    def __init__(self, rules: Rules, kinds: Sequence[ServedName], taken: NameSearch | None = None) -> None:
        self._rules = rules
        self._taken = taken
        self._annotations = {(each.group, each.kind): list_checked_annotations([each]) for each in kinds}

    def title_of(self, question: Question) -> str:
        """Return the kind, for metrics; one word for all kinds without rules."""
        return question.kind if self._rules.knows(question.group, question.kind) else "other"

    async def answer(self, question: Question) -> Answer:
        """Answer a question. What must always go on is decided before any rule runs."""
        if question.operation not in ("CREATE", "UPDATE") or question.subresource:
            return Answer(Verdict.ALLOWED)
        if not self._rules.knows(question.group, question.kind):
            told = f"{question.kind} of group {question.group!r} has no rules here: nothing was checked"
            return Answer(Verdict.WARNED, warnings=(told,))
        if is_left_alone(question.new) or not self._changes_what_is_checked(question):
            return Answer(Verdict.ALLOWED)
        try:
            return await self._judge(question)
        except Exception:  # a defect of a rule keeps nobody from writing: the reconciler judges again
            _LOG.exception("the rules for %s failed", question.kind)
            told = "this object was not checked, because of a defect in Freehold: see the operator's log"
            return Answer(Verdict.ERROR, warnings=(told,))

    def _changes_what_is_checked(self, question: Question) -> bool:
        if question.old is None:
            return True
        names = self._annotations.get((question.group, question.kind), ())
        return _read_checked(question.new, names) != _read_checked(question.old, names)

    async def _judge(self, question: Question) -> Answer:
        """Judge the object. In an update only what was not wrong before is a reason to refuse it."""
        found, is_new = self._find(question, question.new), question.old is None
        only_warned = is_new and is_only_warned(question.new)
        before = set(self._find(question, question.old).problems) if question.old and found.problems else set()
        new = [each for each in found.problems if each not in before]
        if is_new and not only_warned and self._taken is not None:
            taken = await self._taken.find_problem(question.group, question.kind, _give_name(question.new))
            new += [taken] if taken else []
        if new and not only_warned:
            return Answer(Verdict.DENIED, tuple(new), _shorten(found.notes))
        warnings = _shorten([*map(str, found.problems), *found.notes])
        return Answer(Verdict.WARNED if warnings else Verdict.ALLOWED, warnings=warnings)

    def _find(self, question: Question, raw: Json) -> Findings:
        return self._rules.judge(question.group, question.kind, _give_name(raw))


def _give_name(raw: Json) -> Json:
    """Give an empty name to an object with ``generateName`` that has none yet."""
    return {**raw, "metadata": {"name": "", **raw["metadata"]}}


def _read_checked(raw: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    annotations = raw["metadata"].get("annotations") or {}
    return raw.get("spec"), *(annotations.get(name) for name in names)


def _shorten(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text if len(text) <= _LONGEST_WARNING else f"{text[: _LONGEST_WARNING - 1]}…" for text in texts)


def build_response(question: Question, answer: Answer) -> Json:
    """Build the AdmissionReview that answers a question."""
    response: Json = {"uid": question.uid, "allowed": answer.is_allowed}
    if answer.warnings:
        response["warnings"] = list(answer.warnings)
    if not answer.is_allowed:
        response["status"] = {
            "status": "Failure",
            "code": 422,
            "reason": "Invalid",
            "message": join_problems(answer.problems),
            "details": {
                "group": question.group,
                "kind": question.kind,
                "name": str(question.new["metadata"].get("name") or ""),
                "causes": [
                    {"reason": "FieldValueInvalid", "field": each.field, "message": each.message}
                    for each in answer.problems
                ],
            },
        }
    return {"apiVersion": _API_VERSION, "kind": "AdmissionReview", "response": response}
