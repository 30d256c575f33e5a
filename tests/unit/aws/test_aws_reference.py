"""docs/reference/aws.md and the code say the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from freehold.providers.aws.errors import RULES, AwsErrorRule
from freehold.providers.aws.kind_facts import KINDS, KindFacts
from freehold.providers.aws.permissions.policies import BOUND_ACTIONS, iam_action
from harness.rows import over_rows

PAGE = (Path(__file__).parents[3] / "docs/reference/aws.md").read_text(encoding="utf-8")
API = {
    "ec2": "https://docs.aws.amazon.com/AWSEC2/latest/APIReference",
    "elb": "https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference",
    "elbv2": "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference",
    "iam": "https://docs.aws.amazon.com/IAM/latest/APIReference",
    "s3": "https://docs.aws.amazon.com/AmazonS3/latest/API",
    "eks": "https://docs.aws.amazon.com/eks/latest/APIReference",
    "secretsmanager": "https://docs.aws.amazon.com/secretsmanager/latest/apireference",
}


def _section(heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"the page has no heading {heading}"
    return found[1]


def _link(kind: KindFacts, operation: str, service: str = "") -> str:
    return f"[{operation}]({API[service or kind.service]}/API_{operation}.html)"


def kind_row(kind: KindFacts) -> str:
    cells = (kind.name, kind.service, _link(kind, kind.create), kind.delete, kind.describe, f"`{kind.tags_in}`")
    token = f"`{kind.token_in}`" if kind.token_in else "none"
    index = f"`{kind.indexed_as}`" if kind.indexed_as else "none"
    return "| " + " | ".join((*cells, token, kind.natural_key or "none", index)) + " |"


def attribute_row(kind: KindFacts) -> str:
    cells = kind.name, _changes(kind, kind.mutable), _changes(kind, kind.by_person), ", ".join(kind.immutable) or "none"
    return f"| {' | '.join(cells)} |"


def _changes(kind: KindFacts, attributes: Mapping[str, str]) -> str:
    """Attributes with the operation that changes them."""
    operations: dict[str, list[str]] = {}
    for attribute, operation in attributes.items():
        operations.setdefault(operation, []).append(attribute)
    return "; ".join(f"{', '.join(names)}: {_link(kind, one)}" for one, names in operations.items()) or "none"


def part_rows(kind: KindFacts) -> list[str]:
    return [
        f"| {part.name} | {kind.name} | {part.natural_key} | "
        f"{', '.join(_link(kind, operation, part.service) for operation in dict.fromkeys(part.operations))} |"
        for part in kind.parts
    ]


@over_rows("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_the_page_has_the_rows_of_each_kind(kind: KindFacts) -> None:
    section = _section("Kinds")
    assert kind_row(kind) in section
    assert attribute_row(kind) in section
    for row in part_rows(kind):
        assert row in section


def test_the_page_has_no_row_of_a_kind_that_is_not_there() -> None:
    names = set(re.findall(r"^\| ([a-z0-9-]+) \| ", _section("Kinds"), re.MULTILINE))
    assert names == {"kind", "part"} | {kind.name for kind in KINDS} | {
        part.name for kind in KINDS for part in kind.parts
    }


def test_the_deletes_that_are_bound_are_those_whose_conditions_know_tags() -> None:
    """A deny without the condition key would hold for everything, ours too."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in _section("Permissions").splitlines()
        if re.match(r"\| `[a-z0-9]+:[A-Z]", line)
    ]
    actions = {iam_action(kind.service, kind.delete) for kind in KINDS}
    assert {row[0].strip("`") for row in rows} == actions
    assert {row[0].strip("`") for row in rows if row[2] == "`aws:ResourceTag/${TagKey}`"} == set(BOUND_ACTIONS)
    assert all("](https://docs.aws.amazon.com/service-authorization/" in row[3] for row in rows)


def error_row(rule: AwsErrorRule) -> tuple[str, str]:
    """The first two cells: codes, with the operations that they count of, and the class."""
    codes = ", ".join(f"`{code}`" for code in rule.codes)
    of = f" of {', '.join(sorted(rule.operations))}" if rule.operations else ""
    return f"{codes}{of}{' (by its text)' if rule.words else ''}", rule.error.__name__


def test_the_page_has_the_error_table_row_by_row() -> None:
    """In its order, for the first row that fits decides."""
    rows = [line.strip("| ").split(" | ") for line in _section("Errors").splitlines() if line.startswith("| `")]
    assert [(codes, error) for codes, error, _ in rows] == [error_row(rule) for rule in RULES]
