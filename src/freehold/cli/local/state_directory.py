"""The state directory: what a laptop keeps, and the lock that makes one process its only writer.

Whether the server lives is asked of the kernel (flock), never of a pid: after kill -9 the content of
the lock file is stale, the lock itself is not held.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from shlex import quote

from freehold.cli.errors import CliError

STATE_VARIABLE = "FREEHOLD_STATE"


class CloudChoice(Enum):
    """The clouds of a state directory's objects; fixed by the first command that needs one."""

    REAL = "ibm"  # the word from before there was a second one
    SIMULATED = "simulated"


@dataclass(frozen=True)
class LiveServer:
    """The server of a state directory, as others find it. ``operator`` False: it only lets somebody read, for a moment.

    ``simulator`` is the base URL of the simulated cloud, empty for the real one. ``gates``: the features that are on.
    ``gc_selector``: its text, empty where all clusters are collected. ``token``: what its clients must show.
    """

    url: str
    pid: int
    operator: bool
    simulator: str = ""
    gates: list[str] = field(default_factory=list)
    token: str = field(default="", repr=False)
    gc_selector: str = ""


def default_path(env: Mapping[str, str] = os.environ) -> Path:
    """FREEHOLD_STATE, else ``freehold`` in the XDG state directory (freedesktop.org's base directory rules)."""
    if env.get(STATE_VARIABLE):
        return Path(env[STATE_VARIABLE]).expanduser()
    root = env.get("XDG_STATE_HOME") or str(Path(env.get("HOME", "~")).expanduser() / ".local" / "state")
    return Path(root) / "freehold"


@dataclass(frozen=True)
class StateDirectory:
    """Paths in one directory of mode 0700."""

    path: Path

    @classmethod
    def open(cls, path: Path) -> StateDirectory:
        """Make the directory if it is missing. Raises CliError when it cannot be used, or is not its user's alone."""
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                raise PermissionError(13, "Permission denied")
            _make_private(cls(path))
        except OSError as problem:
            raise CliError(
                f"the state directory {path} cannot be used: {problem.strerror}; choose another one with --state DIR"
            ) from problem
        return cls(path.absolute())

    @property
    def store(self) -> Path:
        return self.path / "store.sqlite"

    @property
    def world(self) -> Path:
        return self.path / "simulated-cloud.json"

    @property
    def keys(self) -> Path:
        """The key ring: beside the directory, so that deleting the store keeps the keys."""
        whole = self.path.resolve()
        return whole.parent / f"{whole.name or 'freehold'}.keys"

    @property
    def simulator_settings(self) -> Path:
        """Return the file of ``--simulate-settings``, which the simulated cloud keeps, whoever starts it next."""
        return self.path / "simulated-cloud-settings.json"

    @property
    def audit(self) -> Path:
        return self.path / "audit.jsonl"

    @property
    def audit_of_people(self) -> Path:
        """Return the log of what was done through commands, and by whom. The operator's log has another writer."""
        return self.path / "audit-people.jsonl"

    @property
    def login(self) -> Path:
        """Return the file that says which credentials are used; no secret is in it."""
        return self.path / "login.json"

    @property
    def api_key(self) -> Path:
        """Return the file of the API key of IBM Cloud, where the system has no keyring."""
        return self.path / "ibm-api-key"

    @property
    def log(self) -> Path:
        return self.path / "freehold.log"

    @property
    def simulator_log(self) -> Path:
        return self.path / "simulator.log"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    @property
    def token(self) -> Path:
        """Return the file of the token that clients show, so that they live on when the server is started again."""
        return self.path / "api-token"

    @property
    def page_token(self) -> Path:
        """Return the file of the token that the live page asks for; with it one can look, and change nothing."""
        return self.path / "page-token"

    @property
    def page_port(self) -> Path:
        """Return the file of the port that the live page had last, so that an open page finds its next server."""
        return self.path / "page-port"

    @property
    def lock(self) -> Path:
        return self.path / "server.lock"

    @property
    def world_lock(self) -> Path:
        return self.path / "simulated-cloud.lock"

    @property
    def room(self) -> int:
        """Bytes that can still be written."""
        disk = os.statvfs(self.path)
        return disk.f_bavail * disk.f_frsize

    @property
    def has_changed_clouds(self) -> bool:
        """Return whether the operator's audit log tells of it."""
        return self.audit.exists() and self.audit.stat().st_size > 0

    @property
    def used(self) -> bool:
        """Return whether anything tells that objects were served here before; each of these files may be lost too.

        Not the log of what people do: it has logins, which come before the first object.
        """
        traces = (self.path / "cloud.json", self.keys, self.audit, self.world)
        return any(trace.exists() for trace in traces)

    @property
    def cloud(self) -> CloudChoice | None:
        """The cloud that this directory is bound to; None while it is not."""
        try:
            return CloudChoice(json.loads((self.path / "cloud.json").read_text())["cloud"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            raise CliError(
                f"{self.path / 'cloud.json'} cannot be read; it should say which cloud the state is of"
            ) from None

    def choose(self, simulate: bool) -> CloudChoice:
        """Choose the cloud: the one that the directory is bound to, else the one that is asked for.

        Raises CliError for --simulate on the state of a real account: its objects have real resources.
        """
        bound = self.cloud
        if bound is None:
            return CloudChoice.SIMULATED if simulate else CloudChoice.REAL
        if simulate and bound is CloudChoice.REAL:
            raise CliError(
                f"{self.path} holds the state of real accounts; "
                "for the simulated clouds choose another directory with --state DIR"
            )
        return bound

    def bind(self, simulate: bool) -> CloudChoice:
        """Choose the cloud, and bind the directory to it from now on."""
        chosen = self.choose(simulate)
        if self.cloud is None:
            write_whole(self.path / "cloud.json", json.dumps({"cloud": chosen.value}))
        return chosen


def _make_private(state: StateDirectory) -> None:
    """Close a directory of ours to others. Raises CliError where it is another user's, or others may use it.

    What others could write may not be what we wrote, and what is no state directory may be open on purpose. Who may
    write to a folder above can put a directory in its place, which is refused as theirs.
    """
    path, found = state.path, state.path.stat()
    if found.st_uid != os.geteuid():
        raise CliError(
            f"the state directory {path} belongs to another user (uid {found.st_uid}); choose another one with "
            "--state DIR"
        )
    if not found.st_mode & 0o077:
        return
    is_state = state.lock.exists() or state.store.exists() or state.used
    if any(path.iterdir()) and (found.st_mode & 0o022 or not is_state):
        raise CliError(
            f"the state directory {path} is open to other users (mode {stat.S_IMODE(found.st_mode):o}): look whether "
            f"what is in it is yours, then chmod 700 {quote(str(path))}; or choose another one with --state DIR"
        )
    path.chmod(0o700)


def write_whole(path: Path, text: str) -> None:
    """Replace a file at once, mode 0600: a reader sees the old content or the new."""
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    fresh.replace(path)


class Lock:
    """An exclusive lock on a file, held until ``release`` or the end of the process, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    @property
    def descriptor(self) -> int:
        """Return what hands the lock to a child process. Raises ValueError when it is not held."""
        if self._descriptor is None:
            raise ValueError("the lock is not held")
        return self._descriptor

    def take(self) -> bool:
        """Try once; False when another process holds it. The old content is wiped. Raises CliError."""
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise CliError(f"{self._path} cannot be opened: {problem.strerror}; choose --state DIR") from problem
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.fchmod(descriptor, 0o600)  # the token will be in it
            os.ftruncate(descriptor, 0)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError as problem:
            os.close(descriptor)
            raise CliError(
                f"{self._path} cannot be locked ({problem.strerror}): "
                "the state directory must be on a file system that knows flock; choose --state DIR"
            ) from problem
        self._descriptor = descriptor
        return True

    @property
    def held_elsewhere(self) -> bool:
        """Return whether another process holds it; neither it nor the content is touched."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def publish(self, server: LiveServer) -> None:
        """Let other commands know where the server is."""
        content = json.dumps(asdict(server)).encode()
        os.pwrite(self.descriptor, content, 0)
        os.ftruncate(self.descriptor, len(content))  # what was published before may be longer

    def read(self) -> LiveServer | None:
        """Read what the holder published; None while it is starting."""
        try:
            content = json.loads(self._path.read_bytes())
            return LiveServer(**content)
        except (OSError, ValueError, TypeError):
            return None

    def release(self) -> None:
        """Let go, leaving no content behind."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            self.let_go()

    def let_go(self) -> None:
        """Close our hold without a trace: a child that was handed the descriptor goes on holding it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
