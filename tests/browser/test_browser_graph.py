"""The graph of an object's resources: it keeps still, stays readable, is walked with keys, and has a twin in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from harness.page_samples import VIEWS, served_samples

if TYPE_CHECKING:
    from harness.browser import Viewer

pytestmark = pytest.mark.slow

ENTER, ESCAPE, RIGHT, LEFT, HOME = "\ue007", "\ue00c", "\ue014", "\ue012", "\ue011"

DRAWN = """
const { buildGraph } = await import("/static/graph_model.js");
const { GraphView } = await import("/static/graph.js");
const made = (kind, number, needs, more = {}) => ({
    key: `${kind}/${number}`, kind, name: String(number), id: "", state: "Ready", reason: "", message: "",
    ownership: "managed", proof: "", since: 1, waits_for: [], requires: needs, drift: [], ...more,
});
const count = (number, make) => Array.from({ length: number }, (_, each) => make(each));
const view = new GraphView(() => {});
document.body.append(view.element);
const draw = (resources, opened = []) => {
    view.update(buildGraph(resources, { unsettledOnly: false, opened: new Set(opened) }), 100, "");
    const cards = [...view.element.querySelectorAll("[data-card]")];
    return Object.fromEntries(cards.map((card) => [card.dataset.card, card.getAttribute("transform")]));
};
"""
"""A graph of made-up resources: ``draw`` returns the places of its cards."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served_samples() as served:
        yield served


def run(viewer: Viewer, script: str) -> Any:
    return viewer.script(f"return (async () => {{ {DRAWN} {script} }})()")


@pytest.mark.parametrize(("many", "cards"), [(12, 13), (60, 2)], ids=["each has a card", "they share one"])
def test_cards_keep_their_places_while_states_change(viewer: Viewer, url: str, many: int, cards: int) -> None:
    viewer.open(url)
    places = run(viewer, f"""
        const vpc = made("vpc", 0, []);
        const subnets = (ready) => count({many}, (each) =>
            made("subnet", each, ["vpc/0"], {{ state: each < ready ? "Ready" : "Waiting", since: each }}));
        return [0, 5, {many}].map((ready) => draw([vpc, ...subnets(ready)]));
    """)  # fmt: skip
    assert places[0] == places[1] == places[2] and len(places[0]) == cards
    assert viewer.count(".node.is-Ready") == cards, "what is drawn is the last state"


def test_many_alike_share_a_card_and_a_blocked_one_stands_alone(viewer: Viewer, url: str) -> None:
    viewer.open(url)
    together, opened, shown = run(viewer, """
        const entries = count(299, (each) => made("entry", each, ["vpc/0"], each === 7 ? { state: "Blocked" } : {}));
        const all = [made("vpc", 0, []), ...entries];
        const together = draw(all);
        const shown = view.element.textContent;
        return [Object.keys(together), draw(all, Object.keys(together)), shown];
    """)  # fmt: skip
    assert sorted(together) == ["entry/7", "group:entry|managed||vpc", "vpc/0"] and "298 × entry" in shown
    assert len(opened) == len(set(opened.values())) == 300, "each has a place of its own"


def test_what_is_needed_only_by_way_of_others_has_no_line(viewer: Viewer, url: str) -> None:
    viewer.open(url)
    lines = run(viewer, """
        const subnet = made("subnet", 1, ["vpc/0"], { state: "Waiting", waits_for: ["vpc/0"] });
        return buildGraph([made("vpc", 0, []), subnet, made("nat", 2, ["vpc/0", "subnet/1"])],
            { unsettledOnly: false, opened: new Set() }).lines.map((line) => Object.values(line).join(" "));
    """)  # fmt: skip
    assert sorted(lines) == ["subnet/1 nat/2 ", "vpc/0 subnet/1 to"]


def test_the_graph_is_walked_with_keys(viewer: Viewer, url: str) -> None:
    viewer.open(url)
    viewer.go(VIEWS["ready"])
    viewer.until(lambda: viewer.count(".node") == 25, "the graph")
    viewer.script("document.querySelector('.node[tabindex=\"0\"]').focus()")
    current = "return document.activeElement.dataset.card ?? document.activeElement.textContent"
    viewer.press(HOME, RIGHT)
    there = viewer.script(current)
    viewer.press(LEFT)
    assert viewer.script(current) == "vpc/prod-vpc" != there
    viewer.press(ENTER)
    viewer.until(lambda: viewer.count(".panel") == 1, "what is known of it")
    assert viewer.script(current) == "vpc prod-vpc" and "resource=vpc" in viewer.url
    viewer.sees("own marks, read back", ".panel")
    viewer.press(ESCAPE)
    viewer.until(lambda: viewer.count(".panel") == 0, "the panel is closed")
    assert viewer.script(current) == "vpc/prod-vpc"


def test_the_table_names_what_the_graph_does(viewer: Viewer, url: str) -> None:
    viewer.open(url)
    viewer.go(VIEWS["blocked"])
    viewer.until(lambda: viewer.count(".node") == 25, "the graph")
    viewer.click(".switch button", "Table")
    viewer.until(lambda: viewer.count(".resource-table tbody tr") == 25, "the table")
    viewer.click(".only input")
    viewer.until(lambda: viewer.count(".resource-table tbody tr") == 4, "only what is not Ready")
    viewer.sees("Waits for elastic-ip", ".resource-table")
    viewer.click(".switch button", "Graph")
    viewer.until(lambda: viewer.count(".node") == 4, "the same in the graph")
