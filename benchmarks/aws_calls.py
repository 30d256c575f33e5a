"""``python -m benchmarks.aws_calls [PROFILE]``: each call of the third cluster of an operator, and why it is made."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

WHY = {
    "discover": "before anything is wanted: zones, namesakes",
    "create._send": "the create, and what its reply leaves open",
    "create.send_wave": "the create",
    "observe.find_candidates": "is the name taken, or did a lost create make it?",
    "observe.read_kind": "is it ready, as its mark says; or has it gone?",
    "read_marks._ask": "proof: its mark, read from the resource",
    "read_marks.read_index": "the index: marks, and what is ours and on no record",
    "mark.attach_marks": "the seals of a wave",
    "keyed_tags.attachable": "nothing of others is overwritten by the seal",
    "drift._sync_node": "an attribute as the spec says",
    "parts._add": "a part: rule, route, association, attachment",
    "parts._remove": "a part is taken out before the delete",
    "delete._request_delete": "the delete",
    "delete.is_finished": "the index: nothing of ours is left",
    "delete._leave_record": "what a deleted load balancer leaves behind for minutes",
    "recovery.record_marked": "the index still shows it: has it gone?",
    "final_check._ask": "has a lost create made anything that no record shows?",
}
"""By the step of the engine, the longest beginning counts."""


def main(arguments: list[str]) -> int:
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from benchmarks.aws import PROFILES
    from benchmarks.aws_fleet import Asked, Fleet

    def tell(title: str, asked: list[Asked], seconds: float) -> None:
        writes = sum(each.is_write for each in asked)
        print(f"\n{title}: {len(asked)} calls, {writes} of them writes, {seconds:.1f} s")
        begun = asked[0].at if asked else 0.0
        for each in asked:
            sort = "write" if each.is_write else "read "
            why = next((WHY[step] for step in sorted(WHY, reverse=True) if each.phase.startswith(step)), each.phase)
            print(f"{each.at - begun:7.1f} s {sort} {each.operation:46} {why:62} {each.call.subject[:60]}")
        for operation, count in Counter(each.operation for each in asked).most_common(8):
            print(f"   {count:3} {operation}")

    name = arguments[0] if arguments else "classic"
    profile = PROFILES[name]
    fleet = Fleet(profile.delays)
    for _ in range(2):
        before = fleet.cluster(profile.spec)
        fleet.up(before)
        fleet.later(300.0)
        fleet.down(before)
    cluster = fleet.cluster(profile.spec)
    with fleet.watched() as created:
        seconds = fleet.up(cluster)
    tell(f"{name}: create", created, seconds)
    with fleet.watched() as idle:
        fleet.for_a_while([cluster], 4000.0)
    tell("idle, an hour", idle, 4000.0)
    with fleet.watched() as deleted:
        seconds = fleet.down(cluster)
    tell("delete", deleted, seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
