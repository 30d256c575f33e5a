"""Advice works when it is followed: every reason with advice, and the test that does what its message says.

``FOLLOWED`` names the tests; a reason that is not in one of the three tables fails here, and so does a command in a
message that the command line does not take.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from freehold.api import names
from freehold.cli.main import cli
from freehold.controllers import reconciler
from freehold.engine.reasons import Reason
from freehold.kube.resources import Key
from freehold.providers.aws import api_names as aws_names
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.gate import ClusterApiMode, ClusterContext, Presence, Proceed, decide
from freehold.providers.objects.identity import IdentityProblem
from harness.aws_account import REGION
from harness.aws_served import SECRETS_IN, ServedAws
from harness.powervs import Harness, example
from harness.simulated_aws import KEY
from harness.standing import standing

ROOT = Path(__file__).parents[2]
HERE = "scenario/test_scenario_advice.py"
FOLLOWED: dict[str, tuple[str, ...]] = {
    IdentityProblem.COPIED: (
        "scenario/test_scenario_copies.py::test_a_copy_becomes_a_cluster_of_its_own",
        "scenario/test_scenario_copies.py::test_a_copy_is_deleted_and_nothing_of_the_original_is",
        "scenario/test_scenario_copies.py::test_a_lost_original_goes_on_under_its_name",
        "unit/cli/test_cli_copies.py::test_the_copy_becomes_the_original_again_with_its_records_and_goes",
    ),
    IdentityProblem.LOST: (
        "scenario/test_scenario_copies.py::test_a_copy_without_its_annotation_is_told_and_begins_anew",
        f"{HERE}::test_a_lost_journal_that_is_put_back_serves_the_object_again",
    ),
    IdentityProblem.CORRUPT: ("scenario/test_scenario_identity.py::test_a_corrupt_journal_makes_it_read_only",),
    Reason.KEY_MISSING: (
        "scenario/test_scenario_keys.py::test_adding_the_key_repairs_the_object_without_a_restart",
        "scenario/test_scenario_keys.py::test_a_key_that_a_person_accepts_as_lost_is_replaced_if_record_and_marks_agree",
    ),
    reconciler.ACCOUNT_CHANGED: (
        "unit/aws/test_aws_accounts_bad_input.py::test_a_region_that_is_changed_moves_nothing",
        "unit/controllers/test_controllers_reconcile.py::test_with_a_key_of_another_account_nothing_is_done",
    ),
    names.REASON_NO_CREDENTIALS: (f"{HERE}::test_what_is_missing_for_an_object_of_aws_is_supplied",),
    aws_names.REASON_PRINCIPAL_USAGE_UNAUTHORIZED: (
        "unit/aws/test_aws_accounts_bad_input.py::"
        "test_an_identity_that_is_not_for_this_namespace_is_told_in_upstreams_condition",
    ),
    aws_names.REASON_PRINCIPAL_CREDENTIAL_RETRIEVAL_FAILED: (
        f"{HERE}::test_what_is_missing_for_an_object_of_aws_is_supplied",
    ),
    names.REASON_WAITING_FOR_CLUSTER: (f"{HERE}::test_an_object_that_waits_for_its_cluster_is_let_go_on",),
    names.REASON_INVALID_SPEC: (
        f"{HERE}::test_what_is_wrong_in_a_spec_is_corrected_as_it_says",
        "scenario/test_scenario_bad_input.py::test_a_correction_takes_effect_at_once",
        "scenario/test_scenario_never_begun.py::test_a_mistyped_region_is_corrected_and_the_cluster_is_made",
    ),
    ibm_names.REASON_CREATE_INFRA_NOT_REQUESTED: (
        "scenario/test_scenario_gate.py::test_without_the_annotation_nothing_more_is_created",
    ),
    Reason.NAME_TAKEN: (
        f"{HERE}::test_another_name_is_chosen_where_one_is_taken",
        "scenario/test_scenario_strangers.py::test_a_strangers_resource_under_a_default_name_is_refused_and_left_alone",
    ),
    Reason.NOT_FOUND: ("scenario/test_scenario_given.py::test_the_correction_of_a_wrong_id_takes_effect",),
    Reason.PRESUMED_ONLY: (
        "scenario/test_scenario_decisions.py::test_a_bucket_that_a_person_calls_ours_gets_its_mark_and_is_deleted",
        "scenario/test_scenario_decisions.py::test_one_decision_lets_one_create_through",
        "unit/cli/test_cli_decisions.py::test_the_evidence_is_shown_before_a_person_decides",
    ),
    Reason.VANISHING: (
        "unit/engine/test_engine_decisions.py::test_a_resource_that_vanished_again_and_again_is_tried_once_more",
    ),
    Reason.GONE: (
        "scenario/test_scenario_aws_decisions.py::"
        "test_a_bastion_that_somebody_terminated_is_made_again_when_a_person_says_so",
    ),
    Reason.AMBIGUOUS: (
        "scenario/test_scenario_aws_decisions.py::"
        "test_of_two_with_the_birth_mark_of_a_create_a_person_tells_which_is_ours",
    ),
    Reason.TAG_TAKEN: (
        "unit/engine/test_engine_keyed_tags.py::"
        "test_two_operators_on_one_object_are_told_and_the_key_of_the_other_ends_it",
        "unit/engine/test_engine_keyed_tags.py::"
        "test_anothers_value_in_place_of_the_seal_blocks_and_does_not_hold_the_delete",
    ),
    Reason.FAILED: (
        "scenario/test_scenario_healing.py::test_a_failed_load_balancer_that_a_person_deletes_is_created_again",
    ),
    Reason.NO_CAPACITY: (
        "unit/aws/test_aws_machine_passes.py::"
        "test_a_place_without_capacity_is_asked_again_slowly_and_taken_when_it_has_some",
    ),
    Reason.QUOTA: ("scenario/test_scenario_refused.py::test_a_refused_create_is_reported_and_retried_slowly",),
    Reason.DENIED: ("scenario/test_scenario_refused.py::test_a_refused_create_is_reported_and_retried_slowly",),
    Reason.INVALID: ("scenario/test_scenario_refused.py::test_a_refused_create_is_reported_and_retried_slowly",),
    Reason.IN_USE: (
        "scenario/test_scenario_storage.py::test_a_bucket_with_objects_is_not_emptied",
        "scenario/test_scenario_storage.py::test_a_foreign_bucket_in_our_instance_blocks_its_delete",
    ),
    Reason.UNFIT: (
        "unit/engine/test_engine_fitness.py::"
        "test_a_given_resource_that_lacks_something_is_unfit_until_somebody_adds_it",
    ),
    Reason.MARK_LOST: (
        "scenario/test_scenario_both_marks.py::test_a_person_who_calls_it_ours_has_it_deleted_with_the_object",
    ),
    Reason.SERVES_KEPT: (
        "scenario/test_scenario_both_marks.py::test_a_person_who_calls_it_ours_has_it_deleted_with_the_object",
    ),
    Reason.COLLECTION_HELD: (
        "scenario/test_scenario_gc_holds.py::test_deletion_protection_is_told_with_its_time_and_waits_for_a_person",
        "scenario/test_scenario_gc_holds.py::test_a_rule_in_a_strangers_group_is_left_and_named",
        "scenario/test_scenario_gc_holds.py::test_what_comes_back_for_ever_is_named",
    ),
    Reason.COLLECTION_UNREADABLE: (
        "scenario/test_scenario_gc_holds.py::test_junk_in_the_annotation_holds_the_network_until_it_is_mended",
    ),
    names.REASON_NOT_MARKED: (
        "scenario/test_scenario_gc_switches.py::test_a_cluster_older_than_the_gate_is_collected_once_it_is_opted_in",
    ),
    names.REASON_FEATURE_GATE_OFF: (
        "scenario/test_scenario_gc_switches.py::test_a_cluster_older_than_the_gate_is_collected_once_it_is_opted_in",
    ),
    names.REASON_OPTED_OUT: (
        "unit/cli/test_cli_gc.py::test_a_cluster_is_opted_in_and_out_with_clusterawsadms_sentences",
    ),
    names.REASON_NOT_SELECTED: (
        "unit/cli/test_cli_gc.py::test_a_cluster_that_the_servers_selector_leaves_out_is_collected_once_it_is_opted_in",
    ),
    names.REASON_FOREIGN: (
        "unit/controllers/test_controllers_secret_writer.py::test_a_secret_of_somebody_else_is_never_written",
    ),
    "Surplus": (
        "unit/cli/test_cli_decisions.py::test_surplus_is_shown_and_deleted_only_when_that_is_said",
        "scenario/test_scenario_aws_decisions.py::test_approved_surplus_goes_and_the_rest_stays_ready",
    ),
}
NOT_FOLLOWED = frozenset({
    Reason.NOT_OWNED, Reason.UNKNOWN_KIND, Reason.UNMARKABLE, Reason.DRIFTED, Reason.FROZEN,
    reconciler.DEFECT, names.REASON_WRITE_REFUSED,
})  # fmt: skip
"""Advice that no test follows yet; a row that is mended moves up."""
WAITS = frozenset({
    Reason.REQUIREMENT, Reason.PROVISIONING, Reason.CREATING, Reason.SETTLING, Reason.MARKING, Reason.UPDATING,
    Reason.DELETING, Reason.DEPENDENTS, Reason.RETRYING, Reason.THROTTLED, Reason.GIVEN, Reason.REUSED_BY_NAME,
    Reason.GIVEN_UP, Reason.COLLECTING, names.REASON_WAITING_FOR_CLUSTER_INFRASTRUCTURE,
    names.REASON_WAITING_FOR_BOOTSTRAP_DATA, names.REASON_COLLECTED,
    names.REASON_READY, names.REASON_NOT_READY, names.REASON_READY_UNKNOWN, names.REASON_PAUSED,
    names.REASON_NOT_PAUSED, names.REASON_NOT_DELETING, names.REASON_VALID_SPEC, names.REASON_FIELDS_IGNORED,
    names.REASON_ALL_FIELDS_SERVED, names.REASON_AVAILABLE, names.REASON_NOT_AVAILABLE,
    names.REASON_CHANGED_MEANWHILE,
})  # fmt: skip
"""Nobody need act."""


def test_each_reason_has_a_test_that_follows_its_advice_or_says_that_there_is_none() -> None:
    known = {*Reason, *IdentityProblem, reconciler.ACCOUNT_CHANGED, reconciler.DEFECT}
    known |= {said for name, said in vars(names).items() if name.startswith("REASON_") and isinstance(said, str)}
    known -= {said for said in known if said not in {*WAITS, *FOLLOWED, *NOT_FOLLOWED} and _is_of_metadata(said)}
    assert known <= {*FOLLOWED, *NOT_FOLLOWED, *WAITS}, known - {*FOLLOWED, *NOT_FOLLOWED, *WAITS}
    assert not (set(FOLLOWED) & NOT_FOLLOWED) | (set(FOLLOWED) & WAITS) | (NOT_FOLLOWED & WAITS)


def _is_of_metadata(reason: str) -> bool:
    """The metadata controller's own: its tests are the scenarios of metadata."""
    constant = next((name for name, said in vars(names).items() if said == reason), "")
    text = "\n".join(path.read_text() for path in (ROOT / "src/freehold/tags/policy").glob("*.py"))
    return bool(constant) and constant in text


def test_each_test_that_follows_advice_exists() -> None:
    for reason, tests in FOLLOWED.items():
        for each in tests:
            path, _, name = each.partition("::")
            assert re.search(rf"^(async )?def {name}\(", (ROOT / "tests" / path).read_text(), re.MULTILINE), reason


# --- commands in messages --------------------------------------------------------------------------

_COMMAND = re.compile(r"\bfreehold (?P<words>[a-z]+(?: [a-z]+(?:-[a-z]+)*)?)(?P<rest>(?: [^.;,:()`|\s]+)*)")
_MAY_HAVE = re.compile(r"\bfreehold(?!\.)|\bhint")
"""In a module that has a command in a message: others only name our modules."""
_PROSE = frozenset({"operator", "record", "key", "object", "demo", "with"})
"""Words after the name of the product that are no command."""


def _texts(nodes: list[ast.AST]) -> Iterator[str]:
    """The texts of a module that a person may be shown, with X where a value comes in."""
    silent = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
    parts = {id(part) for each in nodes if isinstance(each, ast.JoinedStr) for part in each.values}
    for each in nodes:
        if isinstance(each, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in each.values)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in silent | parts:
            yield each.value


def _hints(nodes: list[ast.AST]) -> Iterator[list[str]]:
    """The words of each hint that the command line makes, with X where a value comes in."""
    for each in nodes:
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id.startswith("hint"):
            words = [part.value if isinstance(part, ast.Constant) else "X" for part in each.args]
            if words[0] != "X":
                yield [*str(words[0]).split(), *filter(None, map(str, words[1:]))]


def _commands() -> Iterator[tuple[str, list[str]]]:
    """Each command in a message: where it is, and its words."""
    for path in sorted((ROOT / "src/freehold").rglob("*.py")):
        source = path.read_text()
        if not _MAY_HAVE.search(source):
            continue
        nodes = list(ast.walk(ast.parse(source)))
        yield from ((path.name, words) for words in _hints(nodes))
        for text in _texts(nodes):
            for found in _COMMAND.finditer(text):
                if found["words"].split()[0] not in _PROSE:
                    yield path.name, found[0].split()[1:]


def test_each_command_in_a_message_is_one_that_the_command_line_takes() -> None:
    seen = 0
    for where, words in _commands():
        command: click.Command = cli
        rest = list(words)
        while isinstance(command, click.Group) and rest and rest[0] in command.commands:
            command = command.commands[rest.pop(0)]
        assert not isinstance(command, click.Group) or command is not cli, (where, words)
        asked = {word.split("=")[0] for word in rest if word.startswith("-")}
        meant = command.commands.values() if isinstance(command, click.Group) and rest[:1] == ["X"] else [command]
        taken = [{option for parameter in each.params for option in parameter.opts} for each in meant]
        assert any(asked <= options for options in taken), (where, words, asked, taken)
        seen += 1
    assert seen > 70, "the pattern finds nothing any more"


# --- stories ---------------------------------------------------------------------------------------

STATIC = {"kind": "AWSClusterStaticIdentity", "name": "mine"}
ROLE = {"kind": "AWSClusterRoleIdentity", "name": "mine"}
OPEN = {"allowedNamespaces": {}}


def _with_secret(served: ServedAws, **entries: str) -> None:
    served.stored.put("AWSClusterStaticIdentity", "mine", {"secretRef": "keys", **OPEN})
    secret = {"metadata": {"name": "keys"}, "stringData": entries}
    served.stored.objects["Secret", Key(SECRETS_IN, "keys")] = secret


def _whole_secret(served: ServedAws) -> None:
    _with_secret(served, AccessKeyID=KEY, SecretAccessKey="s3cret")


def _source(served: ServedAws) -> None:
    named = {"sourceIdentityRef": {"kind": "AWSClusterControllerIdentity", "name": "default"}}
    served.stored.put("AWSClusterRoleIdentity", "mine", {"roleARN": served.sim.role("mine"), **OPEN, **named})


MISSING: dict[str, tuple[dict[str, Any], Callable[[ServedAws], None], str, Callable[[ServedAws], None]]] = {
    "the identity": (STATIC, lambda served: None, "does not exist; make it", _whole_secret),
    "its Secret": (
        STATIC, lambda served: served.stored.put("AWSClusterStaticIdentity", "mine", {"secretRef": "keys", **OPEN}),
        "which does not exist; make it with AccessKeyID and SecretAccessKey", _whole_secret,
    ),
    "an entry of it": (
        STATIC, lambda served: _with_secret(served, AccessKeyID="A"), "has no entry SecretAccessKey; add it",
        _whole_secret,
    ),
    "who assumes the role": (
        ROLE, lambda served: served.stored.put("AWSClusterRoleIdentity", "mine", {"roleARN": "arn:aws:iam::1:role/r",
                                                                                  **OPEN}),
        "set its spec.sourceIdentityRef", _source,
    ),
    "another identity": (
        STATIC, lambda served: None, "or name another one in spec.identityRef",
        lambda served: served.change(identityRef=None),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("reference", "before", "said", "follow"), MISSING.values(), ids=MISSING)
async def test_what_is_missing_for_an_object_of_aws_is_supplied(
    reference: dict[str, Any],
    before: Callable[[ServedAws], None],
    said: str,
    follow: Callable[[ServedAws], None],
) -> None:
    served = ServedAws(identityRef=reference)
    before(served)
    await served.once()
    ready = served.condition(names.READY)
    assert ready["reason"] == names.REASON_NO_CREDENTIALS and said in ready["message"], ready
    follow(served)
    await served.once()
    assert served.condition(names.READY)["reason"] != names.REASON_NO_CREDENTIALS, served.conditions()


SUBNETS = [
    {"id": "one", "availabilityZone": f"{REGION}a", "cidrBlock": "10.0.0.0/20", "isPublic": True},
    {"id": "two", "availabilityZone": f"{REGION}a", "cidrBlock": "10.0.8.0/20"},
]
WRONG: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "the region": ({"region": "Frankfurt"}, "correct it", {"region": REGION}),
    "the partition": ({"partition": "aws-cn"}, "write that", {"partition": "aws"}),
    "the partition, removed": ({"partition": "aws-cn"}, "or remove it", {"partition": None}),
    "tags": (
        {"additionalTags": {f"k{n}": "v" for n in range(41)}}, "remove all but 40",
        {"additionalTags": {"k40": None}},
    ),
    "a zone": (
        {"network": {"subnets": [{**SUBNETS[0], "availabilityZone": f"{REGION}z"}]}}, "availabilityZone",
        {"network": {"subnets": [SUBNETS[0]]}},
    ),
    "ranges": (
        {"network": {"subnets": SUBNETS}}, "overlaps",
        {"network": {"subnets": [SUBNETS[0], {**SUBNETS[1], "cidrBlock": "10.0.16.0/20"}]}},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "said", "correction"), WRONG.values(), ids=WRONG)
async def test_what_is_wrong_in_a_spec_is_corrected_as_it_says(
    spec: dict[str, Any], said: str, correction: dict[str, Any]
) -> None:
    served = ServedAws(**spec)
    await served.once()
    ready = served.condition(names.READY)
    assert ready["reason"] == names.REASON_INVALID_SPEC and said in ready["message"], ready
    served.change(**correction)
    await served.once()
    assert served.condition(names.READY)["reason"] != names.REASON_INVALID_SPEC, served.conditions()


def test_another_name_is_chosen_where_one_is_taken() -> None:
    first = standing(Harness)
    second = Harness({**example(), "metadata": {**example()["metadata"], "name": "second"}}, beside=first)
    second.pass_once()
    message = second.condition("VPCReady")["message"]
    assert second.condition("VPCReady")["reason"] == "NameTaken" and "choose another name" in message
    renamed = {
        "vpc": {"name": "second-vpc"}, "serviceInstance": {"name": "second-instance"},
        "transitGateway": {"name": "second-gateway"},
    }  # fmt: skip
    second.object.patch({"spec": renamed})
    second.run(lambda: second.condition("VPCReady").get("status") == "True")


def test_a_lost_journal_that_is_put_back_serves_the_object_again() -> None:
    harness = standing(Harness)
    writes = len(harness.calls(mutating=True))
    good = harness.object.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: None}}})
    harness.object.raw["status"] = {}
    harness.start_process()  # the process before remembers the journal, and puts it back itself
    harness.pass_once()
    assert "Put the annotation back from a backup" in harness.condition("Ready")["message"]
    harness.object.patch({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: good}}})
    harness.up()
    assert len(harness.calls(mutating=True)) == writes


LABEL = {"labels": {names.CLUSTER_NAME_LABEL: "c"}}
OWNED = {"ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "c", "uid": "u"}]}
AUTO = ClusterContext(ClusterApiMode.AUTO)
OFF, REQUIRED = ClusterContext(ClusterApiMode.OFF), ClusterContext(ClusterApiMode.REQUIRED)
INSTALLED = ClusterContext(ClusterApiMode.AUTO, Presence.PRESENT)
ALONE = {"annotations": {names.STANDALONE_ANNOTATION: "true"}}
HELD: dict[str, tuple[dict[str, Any], ClusterContext, str, dict[str, Any], ClusterContext]] = {
    "remove the ownerReference": (OWNED, AUTO, "remove the ownerReference", {}, AUTO),
    "remove the label": (LABEL, AUTO, "or remove the label", {}, AUTO),
    "without Cluster API": (LABEL, AUTO, "--cluster-api=off", LABEL, OFF),
    "serve it alone": ({}, INSTALLED, f"{names.STANDALONE_ANNOTATION}: 'true'", ALONE, INSTALLED),
    "without an owner": ({}, REQUIRED, "--cluster-api=auto", {}, AUTO),
}  # fmt: skip


@pytest.mark.parametrize(("metadata", "around", "said", "then", "after"), HELD.values(), ids=HELD)
def test_an_object_that_waits_for_its_cluster_is_let_go_on(
    metadata: dict[str, Any], around: ClusterContext, said: str, then: dict[str, Any], after: ClusterContext
) -> None:
    def decided(given: dict[str, Any], context: ClusterContext) -> Any:
        raw = {"kind": POWERVS_CLUSTER.kind, "metadata": {"name": "c", "namespace": "default", **given}}
        return decide(raw, context, POWERVS_CLUSTER)

    assert said in decided(metadata, around).message
    assert isinstance(decided(then, after), Proceed)
