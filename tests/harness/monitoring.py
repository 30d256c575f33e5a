"""The expressions of deploy/monitoring, and what they name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import promql_parser
import yaml
from prometheus_client.parser import text_string_to_metric_families

FOLDER = Path(__file__).resolve().parents[2] / "deploy/monitoring"
SCRAPED = frozenset({"job", "instance"})
"""Labels that Prometheus adds to each series."""
_SUFFIXES = re.compile(r"_(bucket|count|sum)$")


@dataclass
class Names:
    """What one expression names: labels by metric, values by metric and label, and labels by which is aggregated."""

    labels: dict[str, set[str]] = field(default_factory=dict)
    values: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    grouped: set[str] = field(default_factory=set)


def expressions() -> Iterator[tuple[str, str]]:
    """Yield each expression of the alerts and of the dashboard, with what it is of."""
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target["expr"]


def find_names(expression: str) -> Names:
    """Parse an expression. Raises ValueError for one that Prometheus would refuse."""
    found = Names()

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            labels = found.labels.setdefault(node.name, set())
            for each in node.matchers.matchers:
                labels.add(each.name)
                if not each.value.startswith("$"):
                    found.values.setdefault((node.name, each.name), set()).update(each.value.split("|"))
        elif isinstance(node, promql_parser.MatrixSelector):
            visit(node.vector_selector)
        elif isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            found.grouped |= set(node.modifier.labels)

    promql_parser.walk(promql_parser.parse(expression), visit)
    return found


@dataclass(frozen=True)
class Scrape:
    """The families of a scrape, by the names of their samples; and the labels of the samples."""

    families: frozenset[str]
    labels: Mapping[str, frozenset[str]]

    @classmethod
    def parse(cls, text: str) -> Scrape:
        families, labels = set(), {}
        for family in text_string_to_metric_families(text):
            families |= {family.name, f"{family.name}_total"} if family.type == "counter" else {family.name}
            for sample in family.samples:
                labels[sample.name] = frozenset(labels.get(sample.name, ())) | frozenset(sample.labels)
        return cls(frozenset(families), labels)

    def find_problems(self, expression: str, *, whole: bool) -> list[str]:
        """Say which metrics and labels of an expression are not there; ``whole``: each metric has a sample."""
        names, problems = find_names(expression), []
        known: set[str] = set(SCRAPED)
        for metric, labels in names.labels.items():
            if metric not in self.families and _SUFFIXES.sub("", metric) not in self.families:
                problems.append(f"no metric {metric}")
            elif metric in self.labels:
                known |= self.labels[metric]
                problems += [f"{metric} has no label {each}" for each in labels - self.labels[metric] - SCRAPED]
            elif whole:
                problems.append(f"no sample of {metric}")
            else:
                known |= names.grouped
        return problems + [f"no label {each} to group by" for each in names.grouped - known]
