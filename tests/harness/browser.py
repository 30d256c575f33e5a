"""A real Chromium without a screen: what a person sees of a page, presses and types, and what the browser says of it.

The windows of one browser are the viewers. Each closes with a look at what the browser complained of: an error in the
console, a breach of the Content-Security-Policy, a request to anywhere but the page's own server. None is allowed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import ActionChains, Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds after which what was waited for counts as something that never comes."""
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
    "--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-default-apps", "--disable-extensions", "--disable-search-engine-choice-screen",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    # Windows cover one another, and a viewer whose window is covered would see nothing new.
    "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
)  # fmt: skip

_LEAVING = frozenset({"http", "https", "ws", "wss", "file", "ftp"})


def find_what_lacks() -> str:
    """Say what a test in a browser misses on this machine; nothing if all is there."""
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"there is no {' and no '.join(absent)} on the PATH: make browser" if absent else ""


@contextmanager
def browser(profile: Path, font_size: int = 16) -> Iterator[Browser]:
    """Start a browser that knows nothing yet, for somebody who reads text of ``font_size`` pixels."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.add_experimental_option("excludeSwitches", ["enable-automation", "enable-logging"])
    options.add_experimental_option("prefs", {"webkit.webprefs.default_font_size": font_size})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # The wrapper of Debian asks for files of the machine's memory that may not be there, and says so.
    service = Service(shutil.which("chromedriver"), env={**os.environ, "HOME": str(profile)})
    driver = Chrome(options, service)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
        # selenium keeps a connection to the driver's port, and forgets it.
        driver.command_executor.close()


class Browser:
    """A running browser. It has one window that nobody looks at, so that it does not end with the last viewer."""

    def __init__(self, driver: Chrome) -> None:
        self._driver = driver
        self._first = driver.current_window_handle
        self._viewers: dict[str, Viewer] = {}

    @contextmanager
    def viewer(self, expected: Sequence[str] = ()) -> Iterator[Viewer]:
        """Open a window for somebody; a complaint that matches one of ``expected`` is what the test is about."""
        self._driver.switch_to.window(self._first)
        opened = self._driver.execute_cdp_cmd("Target.createTarget", {"url": "about:blank", "newWindow": True})
        seen = Viewer(self._driver, opened["targetId"], self._viewers)
        self._viewers[opened["targetId"]] = seen
        try:
            yield seen
            seen.choose()
            seen.expect_no_complaint(expected)
        finally:
            seen.choose()
            self._driver.close()
            self._driver.switch_to.window(self._first)
            del self._viewers[opened["targetId"]]
            self._driver.get_log("browser"), self._driver.get_log("performance")


class Viewer:
    """A window: what is seen there, and the hands before it. ``css`` is a selector of the page's parts."""

    def __init__(self, driver: Chrome, window: str, viewers: Mapping[str, Viewer]) -> None:
        self._driver, self._window, self._viewers = driver, window, viewers
        self._complaints: list[str] = []
        self._origin = ""
        self.resize(1280, 800)

    def choose(self) -> None:
        """Bring this window to the front: all that follows goes to it."""
        if self._driver.current_window_handle != self._window:
            self._read_logs()
            self._driver.switch_to.window(self._window)

    # ── the window ──

    def open(self, url: str) -> None:
        """Go to a page, as by its bookmark."""
        self.choose()
        parts = urlsplit(url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._driver.get("about:blank")  # else a change of the fragment alone would load nothing
        self._driver.get(url)

    def go(self, route: str) -> None:
        """Go to a route of the page that is open: ``#/tags``."""
        self.choose()
        self._driver.execute_script("location.hash = arguments[0]", route)

    @property
    def url(self) -> str:
        """What the address bar shows."""
        self.choose()
        return str(self._driver.current_url)

    def resize(self, width: int, height: int) -> None:
        """Make the window as large as that, in CSS pixels."""
        self.choose()
        self._command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def prefer(self, scheme: str = "light", *, medium: str = "", less_motion: bool = True) -> None:
        """Set what this person's machine asks of pages: ``light`` or ``dark``, and ``print`` as the medium."""
        self.choose()
        motion = {"name": "prefers-reduced-motion", "value": "reduce" if less_motion else "no-preference"}
        features = [{"name": "prefers-color-scheme", "value": scheme}, motion]
        self._command("Emulation.setEmulatedMedia", media=medium, features=features)

    def picture(self, *, whole: bool = False) -> bytes:
        """Take a picture (WebP) of the window, or of the whole page."""
        self.choose()
        shot = self._command("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return b64decode(shot["data"])

    def print_to_pdf(self) -> bytes:
        """Return what a printer would get."""
        self.choose()
        return b64decode(self._command("Page.printToPDF", printBackground=False)["data"])

    # ── what is seen ──

    def script(self, body: str, *arguments: Any) -> Any:
        """Return what JavaScript returns: for what a person sees and no command of the driver tells."""
        self.choose()
        return self._driver.execute_script(body, *arguments)

    def text(self, css: str = "body") -> str:
        """Return what is to be read there, as it is rendered; nothing where nothing is."""
        return str(
            self.script("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText).join('\\n')", css)
        )

    def count(self, css: str) -> int:
        """Return how many parts are there that are shown."""
        return int(
            self.script(
                "return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility()).length", css
            )
        )

    def until(self, what: Callable[[], T], why: str) -> T:
        """Return what ``what`` gives as soon as it is true. A part that was just replaced is looked up anew."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if found := what():
                    return found
            except StaleElementReferenceException:
                pass
            if time.monotonic() > end:
                raise AssertionError(f"never seen: {why}; the page says:\n{self.text()[:3000]}\n{self._read_logs()}")
            time.sleep(0.05)

    def sees(self, pattern: str, css: str = "body") -> str:
        """Wait until a text there matches; returns that text."""
        return self.until(
            lambda: found.group() if (found := re.search(pattern, self.text(css))) else "", f"{pattern} in {css}"
        )

    def sees_no(self, pattern: str, css: str = "body") -> None:
        """Wait until no text there matches."""
        self.until(lambda: not re.search(pattern, self.text(css)), f"{pattern} gone from {css}")

    def settled(self) -> None:
        """Wait until the view has been read and drawn."""
        self.sees(r"\S", "main")
        self.sees_no("Reading|Loading", "main")
        self._driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def find(self, css: str, text: str = "") -> WebElement:
        """Wait for the first part that is shown and has the text."""
        self.choose()
        return self.until(lambda: self._shown(css, text), f"{css} with {text!r}")

    def _shown(self, css: str, text: str) -> WebElement | None:
        parts = self._driver.find_elements(By.CSS_SELECTOR, css)
        return next((each for each in parts if each.is_displayed() and text in each.text), None)

    # ── hands ──

    def click(self, css: str, text: str = "") -> None:
        """Click the first part that is shown and has the text."""
        self.until(lambda: self.find(css, text).click() is None, f"a click on {css} with {text!r}")

    def type(self, css: str, text: str) -> None:
        """Type into a field what replaces its content."""
        field = self.find(css)
        field.clear()
        field.send_keys(text)

    def press(self, *keys: str) -> None:
        """Press keys one after the other, wherever the focus is."""
        self.choose()
        actions = ActionChains(self._driver, duration=0)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    def focused(self) -> str:
        """Say what has the focus: its role and its name or text."""
        return str(self.script(
            "const e = document.activeElement; return e === document.body ? '' : "
            "`${e.tagName.toLowerCase()} ${e.getAttribute('aria-label') || e.innerText || e.name || e.id || ''}`"
        ))  # fmt: skip

    # ── complaints ──

    def find_barriers(self, axe: str) -> list[str]:
        """Return what axe-core says keeps people from using the page as it is shown now."""
        self.choose()
        self._driver.execute_script(axe)
        self._driver.set_script_timeout(PATIENCE)
        found = self._driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations))"
        )
        return [
            f"{each['id']}: {each['help']}: {node['target'][0]}: {node['failureSummary']}"
            for each in found for node in each["nodes"]
        ]  # fmt: skip

    def expect_no_complaint(self, expected: Sequence[str] = ()) -> None:
        """Fail if the browser complained of anything else than ``expected`` (regular expressions)."""
        self._read_logs()
        wrong = [each for each in self._complaints if not any(re.search(one, each) for one in expected)]
        if wrong:
            raise AssertionError("the browser complains:\n" + "\n".join(wrong))

    def note_request(self, address: str) -> None:
        """Note where the page of this window asked for something."""
        url = urlsplit(address)
        if url.scheme in _LEAVING and f"{url.scheme}://{url.netloc}" != self._origin:
            self._complaints.append(f"a request that leaves {self._origin}: {address[:200]}")

    def _read_logs(self) -> list[str]:
        for entry in self._driver.get_log("browser"):
            if entry["level"] in ("SEVERE", "WARNING"):
                self._complaints.append(f"{entry['source']}: {entry['message']}")
        for entry in self._driver.get_log("performance"):
            told = json.loads(entry["message"])
            if told["message"]["method"] == "Network.requestWillBeSent" and told["webview"] in self._viewers:
                self._viewers[told["webview"]].note_request(told["message"]["params"]["request"]["url"])
        return self._complaints

    def _command(self, name: str, **parameters: Any) -> dict[str, Any]:
        return dict(self._driver.execute_cdp_cmd(name, parameters))
