"""Which resources are asked themselves before a plan on what the index shows of them is carried out."""

from __future__ import annotations

import pytest

from freehold.tags.policy.ledger import ForeignValuePolicy, LedgerEntry, Proof, Record
from freehold.tags.policy.operations import ParsedOperation
from freehold.tags.policy.plan_resources import ReadCost, must_be_read
from freehold.tags.policy.precedence import Claim
from harness.tagged_fleet import add, claim, delete, plan, update, volume, wrote


def _intended(*values: str) -> Record:
    return {"env": LedgerEntry("uid-first", frozenset(values), Proof.INTENDED)}


PROD = claim(update(env="prod"))
KEPT = claim(update(env="prod"), foreign=ForeignValuePolicy.FAIL)


@pytest.mark.parametrize(
    ("tags", "record", "by", "read"),
    [
        pytest.param({}, {}, PROD, False, id="adds what is taken over anyway: what may be there is no reason"),
        pytest.param({}, {}, KEPT, True, id="adds what may be somebody's by now"),
        pytest.param({}, {}, claim(add(env="prod")), True, id="add errors on a value that is there"),
        pytest.param({"env": "test"}, {}, PROD, True, id="overwrites"),
        pytest.param({}, _intended("prod"), PROD, True, id="a reply was lost, and the index shows no effect"),
        pytest.param({"env": "prod"}, wrote(env="prod"), PROD, False, id="nothing differs"),
        pytest.param(
            {"env": "prod"}, _intended("prod"), PROD, True, id="a reply was lost; the index may show the past"
        ),
        pytest.param({"env": "prod"}, _intended("test", "prod"), PROD, True, id="what we had before is forgotten"),
        pytest.param({"a": "1"}, wrote(a="1"), claim(update(b="2")), True, id="removes, and only adds beside it"),
        pytest.param({}, wrote(env="prod"), claim(delete("env")), True, id="a key that is gone is forgotten"),
    ],
)
def test_what_is_read_where_each_read_takes_a_call(
    tags: dict[str, str], record: Record, by: Claim, *, read: bool
) -> None:
    planned = plan(volume(tags, kind="secretsmanager:secret"), by, record=record)
    assert must_be_read(planned, record, ReadCost.OWN, by) is read


@pytest.mark.parametrize("wanted", [update(env="prod"), update(env="prod", team="a")])
def test_what_many_share_is_read_before_anything_is_recorded_or_written(wanted: ParsedOperation) -> None:
    by = claim(wanted)
    planned = plan(volume({"env": "prod"}), by, record=_intended("prod"))
    assert must_be_read(planned, _intended("prod"), ReadCost.SHARED, by)
