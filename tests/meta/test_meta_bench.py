"""`make bench` fails on a row that misses its target, unless the row says why and how much that explains."""

import pytest
from benchmarks.aws import PROFILES, lives, require_kinds
from benchmarks.aws_fleet import Fleet
from benchmarks.rows import Explained, Row, verdict

MET, TOLD = Row("met", 1, "calls", 2), Row("told", 9, "calls")
MISSED = Row("missed", 3, "calls", 2)
WHY = Explained(3, "2 calls, and 1 that only tells who asks")
EXPLAINED = Row("explained", 3, "calls", 2, explained=WHY)
WORSE = Row("worse", 4, "calls", 2, explained=WHY)


def test_rows_at_their_targets_pass() -> None:
    assert verdict([MET, TOLD]) == ("", 0)


def test_a_missed_target_fails_and_is_named() -> None:
    text, code = verdict([MET, MISSED])
    assert code == 1
    assert "missed: 3 calls (target 2)" in text


def test_a_miss_that_is_explained_is_named_with_its_reason_and_passes() -> None:
    text, code = verdict([EXPLAINED])
    assert code == 0
    assert "explained: 3 calls (target 2): 2 calls, and 1 that only tells who asks" in text


def test_a_row_that_is_worse_than_its_explanation_fails() -> None:
    text, code = verdict([WORSE])
    assert code == 1
    assert "worse: 4 calls (target 2); explained is up to 3: 2 calls" in text


def test_a_cluster_with_bastion_and_bucket_owns_both_and_the_endpoint_of_s3() -> None:
    """A row is what its name says: without the feature gate, or with a refused bucket, there would be none."""
    profile = PROFILES["nlb_bastion_bucket"]
    assert {"instance", "s3-bucket", "vpc-endpoint"} <= profile.kinds
    assert lives(profile, 1)


def test_a_run_fails_where_a_profile_does_not_make_its_kinds() -> None:
    fleet, profile = Fleet(), PROFILES["nlb_bastion_bucket"]
    cluster = fleet.cluster(PROFILES["no_nat"].spec)
    fleet.up(cluster)
    with pytest.raises(ValueError, match=r"does not own .*'s3-bucket'.*owns \['classic-load-balancer'\]"):
        require_kinds(cluster, profile)
