"""``freehold tags login``: what is stored where, what goes before it, and that no secret is shown."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from freehold.cli.commands import tags_login
from freehold.cli.errors import CliError
from freehold.cli.local import logins
from freehold.cli.local.state_directory import StateDirectory
from freehold.cli.local.user_audit import who
from freehold.providers.aws.access import ROLE_VARIABLE
from freehold.providers.aws.access import access_of as aws_access
from freehold.providers.aws.identities import AssumedRole
from freehold.providers.ibm.access import access_of as ibm_access

KEY = "a-secret-api-key-of-somebody"
PROFILE = "Profile-94497d0d-2ac3-41bf-a993-a49d1b14627c"
ROLE = "arn:aws:iam::111122223333:role/tagger"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StateDirectory:
    """With two profiles of AWS, and no keyring."""
    config = tmp_path / "config"
    config.write_text("[profile work]\nregion = eu-central-1\n[profile sso]\nsso_session = here\n[sso-session here]\n")
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_DEFAULT_REGION", "IBMCLOUD_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setitem(sys.modules, "keyring", None)
    return StateDirectory.open(tmp_path / "state")


def login(state: StateDirectory, cloud: str | None = None, **given: str | bool) -> None:
    options: dict[str, str | bool] = {
        "profile": "", "role": "", "region": "", "api_key_file": "", "trusted_profile": "", "no_check": True,
        "forget": False, **given,
    }  # fmt: skip
    if cloud is None:
        options["no_check"] = False
    tags_login.run(cloud, state=state.path, **options)  # type: ignore[arg-type]  # as click passes them


def test_a_profile_a_role_and_a_region_are_used_from_then_on(state: StateDirectory) -> None:
    login(state, "aws", profile="work", role=ROLE, region="eu-west-1")
    env: dict[str, str] = {}
    logins.use(state, env)
    assert env == {"AWS_PROFILE": "work", ROLE_VARIABLE: ROLE, "AWS_REGION": "eu-west-1"}
    access = aws_access(env, "")
    assert isinstance(access.own, AssumedRole) and access.own.arn == ROLE
    assert access.regions == ("eu-west-1",)


def test_the_environment_goes_before_what_is_stored(state: StateDirectory) -> None:
    """A person who sets a variable for one command means it."""
    login(state, "aws", profile="work", region="eu-west-1")
    env = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_REGION": "us-east-1", "IBMCLOUD_API_KEY": "mine"}
    logins.use(state, env)
    assert env == {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_REGION": "us-east-1", "IBMCLOUD_API_KEY": "mine"}


def test_a_profile_that_is_not_there_is_named_with_those_that_are(state: StateDirectory) -> None:
    with pytest.raises(CliError, match="no profile wrok; there are: sso, work"):
        login(state, "aws", profile="wrok")
    assert not state.login.exists()


def test_the_key_is_in_a_file_that_nobody_else_may_read(
    state: StateDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "key.json"
    given.write_text(json.dumps({"name": "mine", "apikey": KEY}))
    login(state, "ibm", api_key_file=str(given))
    assert state.api_key.read_text() == KEY and state.api_key.stat().st_mode & 0o777 == 0o600
    assert KEY not in state.login.read_text()
    login(state)
    said = capsys.readouterr()
    assert KEY not in said.out + said.err and str(state.api_key) in said.out
    env: dict[str, str] = {}
    logins.use(state, env)
    assert env == {"IBMCLOUD_API_KEY": KEY}
    state.api_key.chmod(0o644)
    with pytest.raises(CliError, match="others may read") as refused:
        logins.use(state, {})
    assert KEY not in refused.value.sentence


def test_a_trusted_profile_is_assumed_with_the_key_that_is_stored(
    state: StateDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not with another key: who sets a variable for one command may not be trusted by the profile."""
    (tmp_path / "key").write_text(KEY)
    login(state, "ibm", api_key_file=str(tmp_path / "key"), trusted_profile=PROFILE)
    assert f"trusted profile {PROFILE}" in capsys.readouterr().out
    env: dict[str, str] = {}
    logins.use(state, env)
    assert ibm_access(env, "").profile == PROFILE
    logins.use(state, env := {"IBMCLOUD_API_KEY": "mine"})
    assert ibm_access(env, "").profile == ""
    login(state, "ibm", forget=True)
    assert PROFILE not in state.login.read_text()


def test_who_chose_or_forgot_credentials_is_in_the_audit_log_without_the_key(
    state: StateDirectory, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text(KEY)
    login(state, "aws", profile="work", role=ROLE)
    login(state, "ibm", api_key_file=str(tmp_path / "key"), trusted_profile=PROFILE)
    login(state, "ibm", forget=True)
    text = state.audit_of_people.read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    assert [(row["object"], row["by"], row["reason"]) for row in rows] == [
        ("login aws", who(), f'credentials chosen (tags login): {{"profile": "work", "role": "{ROLE}"}}'),
        ("login ibm", who(), f'credentials chosen (tags login): {{"key": "file", "trustedProfile": "{PROFILE}"}}'),
        ("login ibm", who(), "credentials forgotten (tags login)"),
    ]
    assert KEY not in text
    assert not state.used, "nobody has lost a store that no object was in"


def test_a_trusted_profile_is_of_ibm_cloud(state: StateDirectory) -> None:
    with pytest.raises(CliError, match="--trusted-profile are for --cloud ibm"):
        login(state, "aws", trusted_profile=PROFILE)


def test_the_key_is_read_from_standard_input(state: StateDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{KEY}\n"))
    login(state, "ibm", api_key_file="-")
    assert state.api_key.read_text() == KEY


@pytest.mark.parametrize(
    "given", [b"\xff\xfe\x00key", b'{"apikey": {"a": 1}}', b'{"apikey": 1}', b"{", b"{}"], ids=repr
)
def test_a_file_without_a_key_is_refused_and_nothing_is_stored(
    state: StateDirectory, tmp_path: Path, given: bytes
) -> None:
    path = tmp_path / "key"
    path.write_bytes(given)
    with pytest.raises(CliError, match="--api-key-file"):
        login(state, "ibm", api_key_file=str(path))
    assert not state.api_key.exists()


def test_without_a_terminal_it_says_how_to_give_the_key(state: StateDirectory) -> None:
    with pytest.raises(CliError, match="--api-key-file FILE"):
        login(state, "ibm")


class Keyring(ModuleType):
    """The system's keyring, as the package shows it."""

    def __init__(self, *, works: bool) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}
        self.works = works

    class errors:  # noqa: N801 - the package's name
        class KeyringError(Exception):
            """No backend."""

    def set_password(self, service: str, user: str, secret: str) -> None:
        if not self.works:
            raise self.errors.KeyringError
        self.kept[service, user] = secret

    def get_password(self, service: str, user: str) -> str | None:
        return self.kept.get((service, user))

    def delete_password(self, service: str, user: str) -> None:
        del self.kept[service, user]


def test_a_keyring_is_used_where_there_is_one(
    state: StateDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = Keyring(works=True)
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    (tmp_path / "key").write_text(KEY)
    login(state, "ibm", api_key_file=str(tmp_path / "key"))
    assert not state.api_key.exists()
    env: dict[str, str] = {}
    logins.use(state, env)
    assert env == {"IBMCLOUD_API_KEY": KEY}
    login(state, "ibm", forget=True)
    assert keyring.kept == {}
    logins.use(state, env := {})
    assert env == {}


def test_a_keyring_without_a_backend_is_none(
    state: StateDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", Keyring(works=False))
    (tmp_path / "key").write_text(KEY)
    login(state, "ibm", api_key_file=str(tmp_path / "key"))
    assert state.api_key.read_text() == KEY


def test_simulated_clouds_need_no_login(state: StateDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    state.bind(simulate=True)
    login(state)
    assert capsys.readouterr().out == f"{state.path} holds simulated clouds, which need no login\n"
    with pytest.raises(CliError, match="need no login"):
        login(state, "aws", profile="work")


def test_an_editor_gets_no_secret() -> None:
    assert logins.without_secrets({"IBMCLOUD_API_KEY": KEY, "HOME": "/"}) == {"HOME": "/"}
