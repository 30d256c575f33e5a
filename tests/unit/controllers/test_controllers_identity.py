"""The identity is created once, never guessed, never shared (docs/reference/capi-contract.md C32 to C35)."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.mending import find_left_behind, find_mending
from freehold.engine import journal as journals
from freehold.engine.journal import Entry, Journal, Phase
from freehold.engine.keys import KeyRing, derive, digest_of
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.objects.identity import (
    IdentityProblem,
    KeyMissing,
    KnownIdentity,
    MintedIdentity,
    RestoredIdentity,
    UnusableIdentity,
    build_status_identity,
    identify,
    never_began,
)

FINALIZER = ibm_names.POWERVS_CLUSTER_FINALIZER
OWNER = Owner("first-uid", "IBMPowerVSCluster", "ns", "c1")
RING = KeyRing.single(b"k" * 32)
JOURNAL = Journal(OWNER, {NodeKey("vpc", "main"): Entry(Phase.OWNED, id="us-south/v")}, key=RING.writing)


def obj(
    *,
    journal: str | None = None,
    held: bool = True,
    deleting: bool = False,
    status: dict[str, Any] | None = None,
    uid: str = "uid",
    **metadata: Any,
) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "kind": "IBMPowerVSCluster",
        "metadata": {"name": "c1", "namespace": "ns", "uid": uid, "resourceVersion": "7", **metadata},
    }
    if journal is not None:
        raw["metadata"]["annotations"] = {names.JOURNAL_ANNOTATION: journal}
    raw["metadata"]["finalizers"] = ["other", *([FINALIZER] if held else [])]
    if deleting:
        raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if status is not None:
        raw["status"] = status
    return raw


def test_a_new_object_gets_its_first_uid_and_the_finalizer_in_one_patch() -> None:
    """A crash between two patches must not be able to orphan a resource."""
    result = identify(obj(held=False), FINALIZER, RING)
    assert isinstance(result, MintedIdentity)
    assert result.journal.owner == Owner("uid", "IBMPowerVSCluster", "ns", "c1")
    metadata = result.patch["metadata"]
    assert metadata["finalizers"] == ["other", FINALIZER]
    assert metadata["resourceVersion"] == "7"
    assert journals.loads(metadata["annotations"][names.JOURNAL_ANNOTATION]) == result.journal
    assert result.journal.key == RING.writing


@pytest.mark.parametrize("collects", [False, True])
def test_an_identity_remembers_for_ever_what_it_was_made_with(collects: bool) -> None:
    """docs/reference/requirements.md G21: what gate and version say later is nothing that the object was made with."""
    defaults = int(collects)
    made = identify(obj(held=False), FINALIZER, RING, collects=collects, defaults=defaults)
    assert isinstance(made, MintedIdentity)
    assert (made.journal.collects, made.journal.defaults) == (collects, defaults)
    later = obj(journal=journals.dumps(made.journal))
    assert identify(later, FINALIZER, RING, collects=not collects, defaults=2) == KnownIdentity(made.journal)
    lost = obj(status={"identity": dict(build_status_identity(later, made.journal))})
    restored = identify(lost, FINALIZER, RING, collects=not collects, defaults=2)
    assert isinstance(restored, RestoredIdentity)
    assert (restored.journal.collects, restored.journal.defaults) == (collects, defaults)


def test_a_restored_object_keeps_its_first_uid() -> None:
    """docs/reference/capi-contract.md C32: after restore or move metadata.uid is new; it is not compared."""
    result = identify(obj(journal=journals.dumps(JOURNAL), uid="second-uid"), FINALIZER, RING)
    assert result == KnownIdentity(JOURNAL)


def test_a_removed_finalizer_is_added_again_and_the_journal_kept() -> None:
    """docs/reference/capi-contract.md C27: the finalizer is added first, also after someone removed it."""
    text = journals.dumps(JOURNAL)
    result = identify(obj(journal=text, held=False), FINALIZER, RING)
    assert isinstance(result, KnownIdentity)
    assert result.patch is not None
    assert result.patch["metadata"]["finalizers"] == ["other", FINALIZER]
    assert result.patch["metadata"]["annotations"] == {names.JOURNAL_ANNOTATION: text}


def test_no_finalizer_is_added_to_a_deleting_object() -> None:
    """The API server refuses that."""
    result = identify(obj(journal=journals.dumps(JOURNAL), held=False, deleting=True), FINALIZER, RING)
    assert result == KnownIdentity(JOURNAL)


OWN_STATUS = {"identity": dict(build_status_identity(obj(), Journal(OWNER, key=RING.writing)))}
UNKEYED_STATUS = {"identity": {"uid": "uid", "uuid": OWNER.uuid}}
UNKEYED = journals.dumps(Journal(OWNER, JOURNAL.entries))

# Numbers: docs/reference/capi-contract.md.
READ_ONLY = {
    "C35 deleting without identity: never created, never guessed": (obj(deleting=True), IdentityProblem.LOST),
    "C35 nor from the status of another object": (
        obj(uid="other", deleting=True, status=OWN_STATUS),
        IdentityProblem.LOST,
    ),
    "finalizer without identity: lost": (obj(), IdentityProblem.LOST),
    "lost, and the status was copied from another object": (obj(uid="other", status=OWN_STATUS), IdentityProblem.LOST),
    "C34 copied under another name": (obj(journal=journals.dumps(JOURNAL), name="c2"), IdentityProblem.COPIED),
    "C34 copied to another namespace": (obj(journal=journals.dumps(JOURNAL), namespace="ns2"), IdentityProblem.COPIED),
    "C34 copied, then deleted: the original's resources stay": (
        obj(journal=journals.dumps(JOURNAL), name="c2", deleting=True),
        IdentityProblem.COPIED,
    ),
    "no JSON": (obj(journal="{"), IdentityProblem.CORRUPT),
    "empty": (obj(journal=""), IdentityProblem.CORRUPT),
    "another format": (obj(journal='{"v":99}'), IdentityProblem.CORRUPT),
    "a corrupt journal of a new object leads to no new identity": (
        obj(journal="{", held=False),
        IdentityProblem.CORRUPT,
    ),
    "without a key: anybody can write it": (obj(journal=UNKEYED), IdentityProblem.CORRUPT),
    "without a key, before the first pass": (obj(journal=UNKEYED, held=False), IdentityProblem.CORRUPT),
    "without a key, being deleted": (obj(journal=UNKEYED, deleting=True), IdentityProblem.CORRUPT),
    "without a key and without a record": (obj(journal=journals.dumps(Journal(OWNER))), IdentityProblem.CORRUPT),
    "without a key, beside a status with one": (obj(journal=UNKEYED, status=OWN_STATUS), IdentityProblem.CORRUPT),
    "a status without a key proves no identity": (obj(status=UNKEYED_STATUS), IdentityProblem.LOST),
}


@pytest.mark.parametrize(("raw", "reason"), READ_ONLY.values(), ids=READ_ONLY.keys())
def test_read_only(raw: dict[str, Any], reason: IdentityProblem) -> None:
    result = identify(raw, FINALIZER, RING)
    assert isinstance(result, UnusableIdentity)
    assert result.reason is reason
    assert names.JOURNAL_ANNOTATION in result.message


@pytest.mark.parametrize(
    ("held", "deleting"),
    [(True, False), (False, False), (True, True)],
    ids=["finalizer there", "finalizer gone too", "being deleted"],
)
def test_a_lost_annotation_is_restored_from_the_objects_own_status(held: bool, deleting: bool) -> None:
    """Status has the UID of this object, so it was not copied; a new identity would orphan everything."""
    result = identify(obj(held=held, deleting=deleting, status=OWN_STATUS), FINALIZER, RING)
    assert isinstance(result, RestoredIdentity)
    assert result.journal == Journal(OWNER, key=RING.writing)
    assert result.patch["metadata"]["finalizers"] == ["other", FINALIZER]


def test_a_recreated_object_gets_a_new_identity() -> None:
    """Deleted with the finalizer stripped, created again: a new identity (docs/reference/capi-contract.md C33)."""
    result = identify(obj(held=False, uid="new", status=OWN_STATUS), FINALIZER, RING)
    assert isinstance(result, MintedIdentity)
    assert result.journal.owner.uuid == "new"


ANEW = {names.IDENTITY_ANNOTATION: names.NEW_IDENTITY}


def wished(raw: dict[str, Any]) -> dict[str, Any]:
    """With a person's word that it is a new cluster."""
    raw["metadata"]["annotations"] = {**raw["metadata"].get("annotations", {}), **ANEW}
    return raw


@pytest.mark.parametrize("text", [journals.dumps(JOURNAL), "{"], ids=["its own", "damaged"])
def test_a_word_for_a_new_cluster_takes_no_journal_that_may_be_the_objects_own(text: str) -> None:
    found = identify(wished(obj(journal=text)), FINALIZER, RING)
    assert found == KnownIdentity(JOURNAL) if text != "{" else isinstance(found, UnusableIdentity)


@pytest.mark.parametrize("deleting", [False, True])
def test_a_word_for_a_new_cluster_gives_a_copy_the_identity_of_its_uid(deleting: bool) -> None:
    raw = wished(obj(journal=journals.dumps(JOURNAL), name="c2", deleting=deleting))
    found = identify(raw, FINALIZER, RING)
    assert isinstance(found, MintedIdentity) and found.anew
    assert found.journal == Journal(Owner("uid", "IBMPowerVSCluster", "ns", "c2"), key=RING.writing), "and no claim"
    assert found.patch["metadata"]["annotations"][names.IDENTITY_ANNOTATION] is None, "it is said once"


def test_a_word_for_a_new_cluster_gives_an_object_back_what_its_status_proves() -> None:
    found = identify(wished(obj(status=OWN_STATUS, name="c1")), FINALIZER, RING)
    assert isinstance(found, RestoredIdentity)


OTHER = digest_of(b"o" * 32)
KEYED = Journal(OWNER, key=OTHER)
ENTRY_KEYED = Journal(OWNER, {NodeKey("vpc", "main"): Entry(Phase.OWNED, id="v", key=OTHER)}, key=RING.writing)


@pytest.mark.parametrize(
    "raw",
    [
        obj(journal=journals.dumps(KEYED)),
        obj(journal=journals.dumps(ENTRY_KEYED)),
        obj(journal=journals.dumps(KEYED), deleting=True),
        obj(journal=journals.dumps(KEYED), held=False),
        obj(status={"identity": dict(build_status_identity(obj(), KEYED))}),
    ],
    ids=["identity", "one entry", "being deleted", "finalizer stripped", "only status knows"],
)
def test_an_object_whose_key_is_missing_gets_no_patch(raw: dict[str, Any]) -> None:
    """It may be a copy that another operator serves: not even the finalizer is added again."""
    result = identify(raw, FINALIZER, RING)
    assert result == KeyMissing((OTHER,))
    assert OTHER in result.message
    assert "freehold keys add FILE" in result.message
    assert f"freehold keys accept {OTHER}" in result.message


def test_a_key_counts_if_it_is_in_the_ring_or_derived_or_accepted_as_lost() -> None:
    raw = obj(journal=journals.dumps(KEYED))
    whole = KeyRing(RING.writing, {**RING.keys, OTHER: b"o" * 32})
    handed_on = KeyRing(RING.writing, RING.keys, {(OTHER, OWNER.uuid): derive(b"o" * 32, OWNER.uuid)})
    accepted = KeyRing(RING.writing, RING.keys, accepted={(OTHER, OWNER.uuid): frozenset()})
    for ring in (whole, handed_on, accepted):
        assert identify(raw, FINALIZER, ring) == KnownIdentity(KEYED)
    of_another_object = KeyRing(RING.writing, RING.keys, {(OTHER, "another"): derive(b"o" * 32, "another")})
    assert isinstance(identify(raw, FINALIZER, of_another_object), KeyMissing)


def test_the_key_is_restored_from_status_with_the_identity() -> None:
    """Without it nobody could tell whether this operator minted it."""
    keyed = Journal(OWNER, key=RING.writing)
    result = identify(obj(status={"identity": dict(build_status_identity(obj(), keyed))}), FINALIZER, RING)
    assert isinstance(result, RestoredIdentity)
    assert result.journal == keyed
    assert journals.loads(result.patch["metadata"]["annotations"][names.JOURNAL_ANNOTATION]).key == RING.writing


PROVEN = {"identity": {"uid": "uid", "uuid": "first-uid", "key": RING.writing, "account": "a/us-east-1"}}


@pytest.mark.parametrize(
    "owner",
    [Owner("earlier-uid", "IBMPowerVSCluster", "ns", "c1"), Owner("u2", "IBMPowerVSCluster", "ns", "another")],
    ids=["an old export of the same name", "another object's export"],
)
@pytest.mark.parametrize("deleting", [False, True])
def test_a_journal_of_somebody_else_gives_way_to_what_the_objects_own_status_proves(
    owner: Owner, deleting: bool
) -> None:
    """Its resources would be forgotten, and a delete would leave them."""
    text = journals.dumps(Journal(owner, key=RING.writing))
    result = identify(obj(journal=text, status=PROVEN, deleting=deleting), FINALIZER, RING)
    assert isinstance(result, RestoredIdentity) and result.journal == Journal(
        OWNER, account="a/us-east-1", key=RING.writing
    )
    assert journals.loads(result.patch["metadata"]["annotations"][names.JOURNAL_ANNOTATION]) == result.journal


@pytest.mark.parametrize("account", ["", "b/us-east-1"])
def test_the_account_is_the_one_that_the_objects_own_status_names(account: str) -> None:
    """With another one nothing of it would be found, and a delete would end over all of it."""
    text = journals.dumps(Journal(OWNER, account=account, key=RING.writing))
    result = identify(obj(journal=text, status=PROVEN), FINALIZER, RING)
    assert isinstance(result, KnownIdentity) and result.journal.account == "a/us-east-1"


def test_an_object_whose_status_names_an_account_has_begun() -> None:
    """The reply to its first create may be lost, so that no resource is in its status."""
    fresh = identify(obj(held=False), FINALIZER, RING)
    assert isinstance(fresh, MintedIdentity)
    text = journals.dumps(fresh.journal)
    assert never_began(obj(journal=text), RING)
    begun = {"identity": {"uid": "uid", "uuid": "uid", "key": RING.writing, "account": "a/us-east-1"}}
    assert not never_began(obj(journal=text, status=begun), RING)


@pytest.mark.parametrize("text", ["no journal", journals.dumps(Journal(OWNER))], ids=["corrupt", "without a key"])
def test_a_finalizer_that_went_together_with_a_spoilt_journal_is_put_back_alone(text: str) -> None:
    record = journals.dumps(JOURNAL)
    found = find_mending(obj(journal=text, held=False), FINALIZER, RING, record)
    assert found is not None and found.patch["metadata"] == {"resourceVersion": "7", "finalizers": ["other", FINALIZER]}
    assert find_mending(obj(journal=text, held=False), FINALIZER, RING, "") is None, "nothing says that it had anything"
    assert find_mending(obj(journal=text), FINALIZER, RING, record) is None
    assert find_mending(obj(journal=text, held=False, deleting=True), FINALIZER, RING, record) is None


def test_what_is_left_behind_is_told_by_what_was_remembered() -> None:
    theirs = Journal(
        Owner("u2", "IBMPowerVSCluster", "ns", "another"), {NodeKey("vpc", "x"): Entry(Phase.OWNED, id="t")}
    )
    assert find_left_behind(obj(journal=journals.dumps(theirs)), journals.dumps(JOURNAL)) == ("vpc/main us-south/v",)
