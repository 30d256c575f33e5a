"""What the page's own modules decide: causes, requests, events of a stream, filters, and a focus that stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from harness.page_samples import VIEWS, served_samples

if TYPE_CHECKING:
    from harness.browser import Viewer

pytestmark = pytest.mark.slow

DOWN, END = "\ue015", "\ue010"
ROWS = """
const need = (urgency, what, command = "") => ({ urgency, what, do: "act", command, since: 5 });
const row = (name, needs, more = {}) => ({
    key: `AWSCluster/default/${name}`, kind: "AWSCluster", namespace: "default", name, phase: "Ready", reason: "",
    since: 1, created: 1, deleting_since: null, done: 1, total: 1, cloud: "aws", place: "us-east-1", cluster: "",
    version: "1", needs, ...more,
});
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served_samples(more=1000) as served:
        yield served


@pytest.fixture
def page(viewer: Viewer, url: str) -> Viewer:
    viewer.open(url)
    viewer.go(VIEWS["objects"])
    viewer.settled()
    return viewer


def run(viewer: Viewer, module: str, script: str) -> Any:
    return viewer.script(f'return (async () => {{ const m = await import("/static/{module}"); {ROWS} {script} }})()')


def test_objects_with_one_cause_are_one_card_and_the_most_urgent_is_first(page: Viewer) -> None:
    causes = run(page, "attention.js", """
        const rows = [
            row("a", [need("paused", "paused")]),
            row("b", [need("blocked", "subnet one"), need("blocked", "subnet two")]),
            row("c", [need("credentials", "no key")]), row("d", [need("credentials", "no key")]),
        ];
        return m.findCauses(rows).map((cause) => [cause.need.urgency, cause.whats, cause.rows.map((row) => row.name)]);
    """)  # fmt: skip
    assert causes == [
        ["credentials", ["no key"], ["c", "d"]],
        ["blocked", ["subnet one", "subnet two"], ["b"]],
        ["paused", ["paused"], ["a"]],
    ]


def test_a_request_and_its_outcome_are_one_line_and_one_without_outcome_is_told(page: Viewer) -> None:
    lines = run(page, "audit_pairs.js", """
        const told = [
            [9, "sent", 1], [8, "done", 1], [7, "refused", 1], [6, "sent", 1], [5, "sent", 1], [4, "done", 2],
        ];
        const line = ([time, outcome, resource]) => ({ time, outcome, resource, object: "A b/c", call: "ec2.x" });
        return m.joinRequests(told.map(line)).map(({ time, outcome, sent }) => [time, outcome, sent ?? null]);
    """)  # fmt: skip
    assert lines == [[9, "sent", None], [8, "done", 5], [7, "refused", 6], [4, "done", None]]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_events_are_read_however_the_stream_is_cut(page: Viewer, size: int) -> None:
    events = run(page, "api.js", f"""
        const event = (name, number) => `event: ${{name}}\\ndata: {{"seq":${{number}}}}\\n\\n`;
        const text = event("rows", 1) + event("beat", 2) + event("rows", 3).slice(0, -4);
        const parser = new m.EventParser();
        const found = [];
        for (let at = 0; at < text.length; at += {size}) found.push(...parser.feed(text.slice(at, at + {size})));
        return found.map(({{ name, data }}) => [name, data.seq]);
    """)  # fmt: skip
    assert events == [["rows", 1], ["beat", 2]]


def test_keys_of_any_spelling_are_found_again_in_a_route(page: Viewer) -> None:
    keys = ["AWSCluster/default/a", "Cluster//no-namespace", "K/n s/50%?#/ü&", 'K/"x"/<b>']
    found = page.script(
        "return import('/static/route.js').then((m) => arguments[0].map((key) => m.parseRoute(m.objectHref(key)).key))",
        keys,
    )
    assert [found[index] for index in (0, 1, 3)] == [keys[index] for index in (0, 1, 3)]


def test_a_percentage_is_whole_only_if_all_is(page: Viewer) -> None:
    shares = "return import('/static/format.js').then((m) => [[999, 1000], [1000, 1000], [1, 1000], [0, 9], [0, 0]]"
    found = page.script(f"{shares}.map(([part, all]) => m.percent(part, all)))")
    assert found == ["99\u00a0%", "100\u00a0%", "1\u00a0%", "0\u00a0%", "–"]


def test_the_list_has_few_elements_and_the_keyboard_reaches_its_end(page: Viewer) -> None:
    page.script("document.querySelector('.rows a[tabindex=\"0\"]').focus()")
    page.press(DOWN, END)
    total = int(page.script("return document.querySelector('.grid').getAttribute('aria-rowcount')"))
    assert total > 1000 and page.count(".rows > .row") < 100
    assert page.script("return document.activeElement.closest('.row').getAttribute('aria-rowindex')") == str(total)
    seen = "const r = document.activeElement.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight"
    assert page.script(seen), "what has the focus is seen"


def test_a_row_that_changes_keeps_the_focus(page: Viewer) -> None:
    kept = run(page, "virtual.js", """
        const { h } = await import("/static/dom.js");
        const body = h("div"), probe = h("div", { class: "probe" }, "x");
        document.body.prepend(probe, body);
        const build = (item) => h("div", null, h("a", { href: "#/" }, item.text));
        const list = new m.VirtualRows(body, probe, { keyOf: (item) => item.key, build, place: () => {} });
        list.show([{ key: "a", text: "before" }, { key: "b", text: "b" }]);
        body.querySelector("a").focus();
        list.show([{ key: "b", text: "b" }, { key: "a", text: "after" }]);
        const found = document.activeElement.textContent;
        list.end();
        body.remove();
        probe.remove();
        return found;
    """)  # fmt: skip
    assert kept == "after"


def test_a_command_that_cannot_be_copied_is_selected(page: Viewer) -> None:
    page.script("navigator.clipboard.writeText = () => Promise.reject(new Error('no clipboard'))")
    command = page.script("return document.querySelector('.command code').textContent")
    page.click(".command .copy")
    page.sees("Selected", ".command .copy")
    assert page.script("return String(getSelection())").strip() == command
