"""Rows of the page: what is not well comes with what to do, whatever is stored there is a row, and all is bounded."""

from __future__ import annotations

import copy
import json
import random
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from freehold.api import names
from freehold.cli.main import cli
from freehold.engine.clock import SystemClock
from freehold.engine.reasons import Reason
from freehold.kube.resources import Json
from freehold.page.attention import ADVICE, MOST_NEEDS, STUCK_SECONDS, Need, Subject, Urgency
from freehold.page.deletion import build_deletion
from freehold.page.detail import build_detail
from freehold.page.history import Histories
from freehold.page.rows import Row, build_row
from freehold.page.stored_object import MOST_RESOURCES, key_of_stored, read_stored
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.objects.identity import IdentityProblem
from freehold.providers.objects.served_resources import resource_of
from freehold.tags.context import CLOUD_METADATAS, PROVIDERS
from freehold.view.object_view import ViewPhase
from harness.page_world import RING, SETTINGS, PageWorld, Watched
from harness.rows import over_rows

CLUSTERS = resource_of(AWS_CLUSTER)
NOW = 1_800_000_000.0


def row_of(watched: Watched, later: float = 0.0) -> Row:
    return build_row(watched.resource, watched.raw, watched.harness.clock.now() + later)


def stored(status: Any = None, **metadata: Any) -> Json:
    named = {"name": "demo", "namespace": "default", "generation": 1, **metadata}
    return {"kind": "AWSCluster", "metadata": named, "spec": {"region": "r1"}, "status": status}


def ready(status: str, reason: str, message: str = "") -> Json:
    return {"type": names.READY, "status": status, "reason": reason, "message": message, "observedGeneration": 1}


def resources(*states: tuple[str, str]) -> list[Json]:
    return [
        {"kind": "vpc", "name": f"n{index}", "state": state, "reason": reason, "message": "m"}
        for index, (state, reason) in enumerate(states)
    ]


def test_ready_object_needs_nobody_and_counts_its_resources(page_world: PageWorld) -> None:
    row = row_of(page_world.watched["ready"])
    assert (row.phase, row.needs, row.changes_at) == (ViewPhase.READY, (), None)
    assert (row.done, row.total, row.cloud, row.place) == (25, 25, "aws", "us-east-1")
    assert row.key == "AWSCluster/default/prod"


@pytest.mark.parametrize(
    ("name", "urgency", "command"),
    [
        ("blocked", Urgency.BLOCKED, "freehold tree AWSCluster/big -n team-b"),
        ("keyless", Urgency.CREDENTIALS, "freehold tree AWSCluster/keyless -n team-a"),
        ("stuck", Urgency.STUCK_DELETE, "freehold tree AWSCluster/legacy -n team-b"),
        ("paused", Urgency.PAUSED, "kubectl annotate awscluster frozen -n team-a cluster.x-k8s.io/paused-"),
    ],
)
def test_need_says_what_since_when_what_to_do_and_the_command(
    page_world: PageWorld, name: str, urgency: Urgency, command: str
) -> None:
    watched = page_world.watched[name]
    need = row_of(watched).needs[0]
    assert (need.urgency, need.command) == (urgency, command)
    assert need.what and need.do
    assert need.since is not None and 1_700_000_000.0 <= need.since <= watched.harness.clock.now()


@pytest.mark.parametrize("name", ["creating", "deleting", "machine", "machine-waiting", "powervs", "control-plane"])
def test_object_on_its_way_needs_nobody(page_world: PageWorld, name: str) -> None:
    assert row_of(page_world.watched[name]).needs == ()


def test_while_an_object_is_deleted_what_has_gone_is_counted(page_world: PageWorld) -> None:
    detail = page_world.watched["stuck"].detail()
    gone = sum(each["state"] == "Gone" for each in detail["resources"])
    row = row_of(page_world.watched["stuck"])
    assert (row.phase, row.done, row.total) == (ViewPhase.DELETING, gone, 13) and gone == 11


def test_delete_needs_somebody_once_it_had_no_news_for_long(page_world: PageWorld) -> None:
    """The row says when that is, as nothing of the object changes then."""
    watched = page_world.watched["deleting"]
    changes_at = row_of(watched).changes_at
    assert changes_at is not None
    left = changes_at - watched.harness.clock.now()
    assert 0 < left <= STUCK_SECONDS
    assert row_of(watched, left - 1).needs == ()
    late = row_of(watched, left)
    assert [need.urgency for need in late.needs] == [Urgency.STUCK_DELETE]
    assert late.changes_at is None


def test_conflict_of_tags_is_a_need(page_world: PageWorld) -> None:
    row = page_world.build_rows()[-1]
    assert (row.kind, row.phase) == ("CloudMetadata", ViewPhase.BLOCKED)
    assert [(need.urgency, need.command) for need in row.needs] == [
        (Urgency.CONFLICT, "freehold tags plan costs -n metadata-controller")
    ]


def test_needs_are_sorted_by_urgency_and_counted_where_they_are_many() -> None:
    rows = resources(*[("Blocked", Reason.QUOTA)] * 10, ("Blocked", Reason.NAME_TAKEN), ("Blocked", Reason.DENIED))
    needs = build_row(CLUSTERS, stored({"conditions": [ready("False", "NotReady")], "resources": rows}), NOW).needs
    assert [need.urgency for need in needs[:3]] == [Urgency.CREDENTIALS, Urgency.CONFLICT, Urgency.BLOCKED]
    assert len(needs) == MOST_NEEDS + 1
    assert needs[-1].what.startswith("and 7 more")


def test_reason_without_advice_is_a_need_all_the_same() -> None:
    status = {"conditions": [ready("False", "SomethingNew", "the moon is full")]}
    (need,) = build_row(CLUSTERS, stored(status), NOW).needs
    assert (need.urgency, need.what) == (Urgency.BLOCKED, "the moon is full")


def test_pause_of_the_cluster_is_lifted_on_the_cluster() -> None:
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "team one"}
    paused = {"type": names.PAUSED, "status": "True", "reason": names.REASON_PAUSED, "observedGeneration": 1}
    (need,) = build_row(CLUSTERS, stored({"conditions": [paused]}, ownerReferences=[owner]), NOW).needs
    assert need.command == (
        "kubectl patch clusters.cluster.x-k8s.io 'team one' -n default --type=merge -p '{\"spec\":{\"paused\":null}}'"
    )


def test_status_of_an_older_spec_needs_nobody() -> None:
    status = {"conditions": [ready("False", "QuotaReached")]}
    row = build_row(CLUSTERS, stored(status, generation=2), NOW)
    assert (row.phase, row.needs) == (ViewPhase.PROGRESSING, ())


def test_times_of_the_api_server_become_domain_time() -> None:
    raw = stored(creationTimestamp="2026-01-01T00:00:00Z", deletionTimestamp="2026-01-01T00:01:00Z")
    begun = build_row(CLUSTERS, raw, NOW).created
    assert begun is not None
    row = build_row(CLUSTERS, raw, NOW, lambda wall: begun + (wall - begun) * 30)
    assert (row.created, row.deleting_since) == (begun, begun + 1800)
    assert SystemClock(30.0, origin=(100.0, 1000.0)).domain(110.0) == 1300.0


@pytest.mark.parametrize(
    ("type_", "reason", "urgency"),
    [
        ("Approved", "NoCredentials", Urgency.CREDENTIALS),
        ("Approved", "ApprovalNeeded", Urgency.BLOCKED),
        ("Policy", "Conflict", Urgency.CONFLICT),
        ("Policy", "LimitExceeded", Urgency.BLOCKED),
        ("Request", "AccessDeniedException", Urgency.BLOCKED),
    ],
)
def test_trouble_with_tags_is_told_by_its_condition(type_: str, reason: str, urgency: Urgency) -> None:
    conditions = [{**ready("False", reason), "type": each} for each in (names.READY, "Applied", type_)]
    raw = {**stored({"conditions": conditions}), "kind": "CloudMetadata"}
    assert [need.urgency for need in build_row(CLOUD_METADATAS, raw, NOW).needs] == [urgency]


def test_object_with_tags_of_one_cloud_is_ready_where_they_are_applied() -> None:
    applied = {**ready("True", "Applied"), "type": "Applied"}
    row = build_row(PROVIDERS["AWSMetadata"], stored({"conditions": [applied]}), NOW)
    assert (row.phase, row.cloud, row.needs) == (ViewPhase.READY, "aws", ())


# --- commands --------------------------------------------------------------------------------------


@over_rows("reason", sorted(ADVICE))
def test_command_of_each_advice_exists(reason: str) -> None:
    stated = read_stored(CLUSTERS, stored({"resources": resources(("Blocked", reason))}))
    check_command(ADVICE[reason].command(Subject(stated)))


def check_command(text: str) -> None:
    """Parse a command as the program does, without running it."""
    program, *words = shlex.split(text)
    if program == "kubectl":
        return
    command: Any = cli
    context = None
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
        context = command
    assert context is not None
    command.make_context("freehold", words)


def test_deletion_names_commands_that_exist(page_world: PageWorld) -> None:
    plan = page_world.watched["ready"].deletion()
    for text in (plan["command"], plan["plan_command"], plan["collection"]["command"]):
        check_command(text)


def test_command_quotes_what_a_shell_would_read() -> None:
    raw = stored({"conditions": [ready("False", "QuotaReached")]}, name="a; rm -rf /", namespace="$(id)")
    (need,) = build_row(CLUSTERS, raw, NOW).needs
    assert shlex.split(need.command) == ["freehold", "tree", "AWSCluster/a; rm -rf /", "-n", "$(id)"]


@pytest.mark.parametrize("ident", ["--new-cluster", "\x1b[201~\x03touch x\n#", "a\ntouch x\n", "\u202ea"])
def test_id_that_a_terminal_or_the_command_would_act_on_is_in_no_command(ident: str) -> None:
    row = {"kind": "vpc", "name": "a", "id": ident, "state": "Blocked", "reason": Reason.NOT_OWNED.value}
    raw = stored({"conditions": [ready("False", "NotReady")], "resources": [row]})
    (need,) = build_row(CLUSTERS, raw, NOW).needs
    assert need.command == "freehold resolve AWSCluster/demo -n default"


@pytest.mark.parametrize("reason", [IdentityProblem.LOST, IdentityProblem.COPIED])
def test_identity_is_decided_by_the_command_that_knows_of_it(reason: IdentityProblem) -> None:
    (need,) = build_row(CLUSTERS, stored({"conditions": [ready("False", reason.value)]}), NOW).needs
    assert need.command == "freehold resolve --new-cluster AWSCluster/demo -n default"


@pytest.mark.parametrize("name", ["-x", "a\x03b"])
def test_owner_that_is_no_word_of_a_command_has_none(name: str) -> None:
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": name}
    for reason in (names.REASON_PAUSED, Reason.COLLECTION_HELD, Reason.COLLECTION_UNREADABLE):
        raw = stored({"conditions": [ready("False", str(reason))]}, ownerReferences=[owner])
        assert [need.command for need in build_row(CLUSTERS, raw, NOW).needs] == [""]


@over_rows("reason", sorted(Reason))
def test_each_reason_that_blocks_has_advice(reason: Reason) -> None:
    waits = {
        *(Reason.REQUIREMENT, Reason.PROVISIONING, Reason.CREATING, Reason.SETTLING, Reason.MARKING, Reason.UPDATING),
        *(Reason.DELETING, Reason.DEPENDENTS, Reason.COLLECTING, Reason.RETRYING, Reason.THROTTLED),
    }
    stays = {Reason.GIVEN, Reason.REUSED_BY_NAME, Reason.MARK_LOST, Reason.GIVEN_UP, Reason.SERVES_KEPT}
    assert (reason.value in ADVICE) == (reason not in waits | stays)


# --- what anybody can store ------------------------------------------------------------------------

JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, "", "x", "9999-99-99", "0001-01-01T00:00:00", [], [None], ["x", 1], {}, {"x": None},
    [[]], [{}], [{"type": []}], {"conditions": "x"}, "‮<script>alert(1)</script>",
)  # fmt: skip


def show_everything(raw: Any) -> list[Json]:
    """Build all that the page shows of an object."""
    histories, key = Histories(), key_of_stored(CLUSTERS, raw)
    histories.note(key, None, raw, NOW)
    histories.note(key, raw, {**raw, "status": {"resources": [{"kind": "vpc"}]}}, NOW)
    row = build_row(CLUSTERS, raw, NOW).to_json()
    return [
        row,
        build_detail(CLUSTERS, raw, histories.find(key), RING, NOW),
        build_detail(CLUSTERS, raw, None, None, NOW),
        build_deletion(CLUSTERS, raw, RING, SETTINGS),
        build_deletion(CLUSTERS, raw, None, SETTINGS),
    ]


@over_rows("junk", JUNK)
def test_junk_in_any_place_is_a_row(junk: Any) -> None:
    journal = {names.JOURNAL_ANNOTATION: junk, names.PAUSED_ANNOTATION: junk}
    for raw in (
        {"metadata": junk, "status": junk, "spec": junk},
        stored(junk),
        stored({"conditions": junk, "resources": junk, "identity": junk}),
        stored({"conditions": [junk], "resources": [junk]}),
        stored({"conditions": [{"type": names.READY, "status": junk, "reason": junk, "observedGeneration": junk}]}),
        stored({"resources": [{"kind": junk, "name": junk, "state": junk, "since": junk, "waitsFor": junk}]}),
        stored(annotations=journal, labels=junk, ownerReferences=junk, generation=junk),
        stored(ownerReferences=[{"kind": "Cluster", "apiVersion": "cluster.x-k8s.io/v1beta2", "name": junk}]),
        stored(creationTimestamp=junk, deletionTimestamp=junk),
    ):
        json.dumps(show_everything(raw), allow_nan=False)


def test_any_damage_to_a_real_object_is_a_row(page_world: PageWorld) -> None:
    """One place of a real object after another has something else in it; also places in its journal."""
    chance = random.Random(45)
    for name in ("ready", "stuck", "blocked"):
        for _ in range(30):
            raw = copy.deepcopy(page_world.watched[name].raw)
            annotations = raw["metadata"]["annotations"]
            journal = json.loads(annotations[names.JOURNAL_ANNOTATION])
            damage(chance, journal)
            annotations[names.JOURNAL_ANNOTATION] = json.dumps(journal)
            damage(chance, raw)
            json.dumps(show_everything(raw), allow_nan=False)


def damage(chance: random.Random, content: Json) -> None:
    """Put junk into some place below; which one is left to chance."""
    here: Any = content
    while True:
        places = list(here) if isinstance(here, dict) else list(range(len(here)))
        at = chance.choice(places)
        if not isinstance(here[at], dict | list) or not here[at] or chance.random() < 0.2:
            here[at] = copy.deepcopy(chance.choice(JUNK))
            return
        here = here[at]


def with_long_texts(text: str) -> Json:
    row = dict.fromkeys(("kind", "name", "id", "state", "reason", "message", "ownership"), text)
    condition = ready("False", text, text)
    return stored({"conditions": [condition] * 60, "resources": [{**row, "state": "Blocked"}] * 20})


@pytest.mark.parametrize("letter", ["x", "‮", "<", "'"])
def test_long_texts_are_cut(letter: str) -> None:
    for shown in show_everything(with_long_texts(letter * 10_000)):
        for text in texts_in(shown):
            assert len(text) <= 2_000
    row = build_row(CLUSTERS, with_long_texts(letter * 10_000), NOW).to_json()
    assert len(json.dumps(row, ensure_ascii=False)) < 10_000


def texts_in(content: Any) -> list[str]:
    if isinstance(content, dict):
        content = [*content.values(), *content]
    if isinstance(content, list):
        return [text for each in content for text in texts_in(each)]
    return [content] if isinstance(content, str) else []


def test_thousands_of_resources_are_counted_and_the_first_are_shown() -> None:
    rows = [
        {
            "kind": "k",
            "name": f"n{index}",
            "id": f"i{index}",
            "state": "Waiting",
            "waitsFor": ["k n0", f"k n{index - 1}"],
        }
        for index in range(5_000)
    ]
    raw = stored({"conditions": [ready("False", "NotReady")], "resources": rows})
    assert build_row(CLUSTERS, raw, NOW).total == 5_000
    detail = build_detail(CLUSTERS, raw, None, RING, NOW)
    assert len(detail["resources"]) == MOST_RESOURCES
    assert detail["notes"] == [f"{5_000 - MOST_RESOURCES} more resources are not shown"]
    assert len(build_deletion(CLUSTERS, raw, RING, SETTINGS)["stays"]) == MOST_RESOURCES


def test_need_as_json_has_the_fields_of_the_contract() -> None:
    said: Callable[[], Json] = Need(Urgency.BLOCKED, "what").to_json
    assert said() == {"urgency": "blocked", "what": "what", "do": "", "command": "", "since": None}
