"""A real Chromium without a window, driven by its own protocol over a pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WHY_NOT = "no chromium here: install Debian's package `chromium`, then `make report-test`"
_SECONDS = 20


class Page:
    """One page of a browser, with all that it asked for and all that it complained of."""

    def __init__(self, process: subprocess.Popen[bytes], sending: int, receiving: int) -> None:
        self._process, self._sending, self._receiving = process, sending, receiving
        self._number, self._rest = 0, b""
        self._session: str | None = None
        self.requested: list[str] = []
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, url: str) -> float:
        """Load a page; returns the seconds until its script said that it was ready."""
        started = time.perf_counter()
        self.call("Page.navigate", url=url)
        self.wait("document.documentElement?.dataset.ready === 'yes'")
        return time.perf_counter() - started

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (script, answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + _SECONDS
        while self.run(f"Boolean({condition})") is not True:
            assert time.monotonic() < deadline, f"never became true: {condition}"
            time.sleep(0.01)

    def press(self, key: str) -> None:
        """Press a key as a person does."""
        codes = {"Enter": 13, "Escape": 27, "Tab": 9}
        told: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        if key == "Enter":
            told["text"] = "\r"
        elif key not in codes:
            told["text"] = key
        self.call("Input.dispatchKeyEvent", type="keyDown", **told)
        self.call("Input.dispatchKeyEvent", type="keyUp", **told)

    def size(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """Change the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path) -> None:
        """Write what is seen as a PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._sending, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, (method, told["error"])
                result: dict[str, Any] = told["result"]
                return result
            self._note(told)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._receiving], [], [], _SECONDS)
            assert ready, "the browser says nothing any more"
            more = os.read(self._receiving, 1 << 20)
            assert more, f"the browser ended with {self._process.poll()}"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told

    def _note(self, told: dict[str, Any]) -> None:
        parameters = told.get("params", {})
        match told.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(parameters["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(json.dumps(parameters["args"]))
            case "Log.entryAdded":
                self.complaints.append(json.dumps(parameters["entry"]))


@contextmanager
def a_page() -> Iterator[Page]:
    """Yield a page of a browser that is gone afterwards, with all its files."""
    assert CHROMIUM is not None
    profile = tempfile.mkdtemp(prefix="powercontext-chromium-")
    told_in, told = os.pipe()
    heard, heard_out = os.pipe()
    words = [
        *(CHROMIUM, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update"),
        *("--hide-scrollbars", f"--user-data-dir={profile}", "about:blank"),
    ]
    # The protocol's two ends are descriptors 3 and 4 of the browser, whatever they are here.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (told_in, heard_out)]

    def hand_over() -> None:
        for place, end in enumerate(ends, start=3):
            os.dup2(end, place)

    process = subprocess.Popen(
        words,
        preexec_fn=hand_over,
        pass_fds=(3, 4),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    for end in ends:
        os.close(end)
    os.close(told_in)
    os.close(heard_out)
    try:
        yield Page(process, told, heard)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)
        os.close(told)
        os.close(heard)
        shutil.rmtree(profile, ignore_errors=True)
