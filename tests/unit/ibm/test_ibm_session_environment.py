"""The environment of the SDKs' HTTP session: it is read once for each host, and must still be respected."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import requests

from freehold.providers.ibm.session import ApiKey, Endpoints, IbmSession

TARGET = "http://cloud.invalid"
"""Never resolves (RFC 2606): an answer can only come through a proxy."""


class _Proxy(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = b'{"access_token": "t", "expires_in": 3600}'
        self.send_response(203 if self.path.startswith(TARGET) else 500)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Authorization", self.headers.get("Authorization", ""))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Tests print nothing."""


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Proxy) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        for name in ("http_proxy", "NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTP_PROXY", url)
        yield url
        server.shutdown()
        thread.join()


@pytest.fixture
def http() -> Iterator[requests.Session]:
    session = IbmSession(ApiKey("key"), Endpoints.from_base(TARGET))
    yield session.http
    session.close()


def test_a_proxy_of_the_environment_is_used(proxy: str, http: requests.Session) -> None:
    assert [http.post(f"{TARGET}/{n}").status_code for n in range(2)] == [203, 203]


def test_a_host_that_the_environment_excludes_is_reached_directly(
    proxy: str, http: requests.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "cloud.invalid")
    with pytest.raises(requests.ConnectionError):
        http.post(TARGET)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_simulated_cloud_on_this_machine_is_reached_behind_a_company_s_proxy(
    proxy: str, http: requests.Session, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """HTTP_PROXY without NO_PROXY is common on laptops, and 127.0.0.1 must not be reached through a proxy."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    here = proxy.replace("127.0.0.1", host)
    assert http.post(here).status_code == 500, "answered by the server itself, without a proxy"
    session = IbmSession(ApiKey("key"), Endpoints.from_base(here))
    assert session.cos("us-south").meta.config.proxies == {}
    session.close()


def test_a_netrc_entry_does_not_replace_the_token(
    proxy: str, http: requests.Session, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("machine cloud.invalid login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))
    answer = http.post(TARGET, headers={"Authorization": "Bearer ours"})
    assert answer.headers["X-Authorization"] == "Bearer ours"


def test_every_client_has_a_timeout() -> None:
    """The SDKs wait a minute for each read; PowerVS, whose own client waits minutes, has more time."""
    session = IbmSession(ApiKey("key"), Endpoints.from_base(TARGET))
    short = [session.vpc("us-south"), session.transit(), session.resource_controller(), session.tagging()]
    assert {one.http_config["timeout"] for one in short} == {(3.0, 10.0)}
    assert session.power("dal").http_config["timeout"] == (3.0, 25.0)
    config = session.cos("us-south").meta.config
    assert (config.connect_timeout, config.read_timeout) == (3.0, 10.0)
    assert config.retries["total_max_attempts"] == 1
    session.close()


def test_a_bundle_of_certificates_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "company.pem")
    session = IbmSession(ApiKey("key"), Endpoints.from_base(TARGET))
    settings = session.http.merge_environment_settings("https://cloud.invalid", {}, None, True, None)
    session.close()
    assert settings["verify"] == "company.pem"
