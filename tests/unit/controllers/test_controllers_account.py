"""What the account provides for the passes of an object."""

from __future__ import annotations

from freehold.engine.clock import ManualClock
from freehold.engine.keys import KeyRing
from freehold.providers.ibm.accounts import IbmAccount


def test_the_dependencies_of_an_object_have_the_ring_of_this_pass_and_keep_their_drivers() -> None:
    """A key that was added is used without a restart; drivers are kept because they cache answers."""
    before, after = KeyRing.single(b"b" * 32), KeyRing.single(b"a" * 32)
    with IbmAccount("a-key", "http://127.0.0.1:9", ManualClock()) as account:
        first = account.build_deps("c1", before, "a-uuid")
        assert first.ring == before
        second = account.build_deps("c1", after, "a-uuid")
        assert second.ring == after
        assert second.registry is first.registry
        assert account.build_read_only_deps(after).ring == after
