"""Safety lines of the store of a state directory: what is none is not written to, and a lost one is not begun anew."""

from functools import partial

from mutants.rows import Mutant

_store = partial(Mutant, "freehold_apiserver/store.py")
_live = partial(Mutant, "cli/local/server_process.py")
_state = partial(Mutant, "cli/local/state_directory.py")

MUTANTS = (
    _store(
        "Store.open",
        "_require_ours(connection, begin)",
        "pass",
        "tables of ours are written into a database of something else",
    ),
    _store(
        "_require_ours",
        "if found != columns:",
        "if not found:",
        "a database of something else that has tables of our names is written to",
    ),
    _store(
        "_require_ours",
        "if not there and not begin:",
        "if False:",
        "a store that was emptied is taken for a new one",
    ),
    _store(
        "Store.open",
        'if begin and str(path) != ":memory:" and not Path(path).exists():',
        "if False:",
        "a crash of the first command leaves an empty file, which the next one calls a lost store",
    ),
    _live(
        "_open",
        "begin=not (there and used)",
        "begin=True",
        "the store of a directory that has been used is empty, and its objects count as never made",
        killed_by="tests/unit/cli/test_cli_used_state.py::test_an_empty_store_is_refused_in_a_used_directory_only",
    ),
    _state(
        "StateDirectory.used",
        'self.path / "cloud.json", self.keys, self.audit, self.world',
        "self.audit,",
        "without the operator's audit log an empty store counts as a new one",
    ),
)
