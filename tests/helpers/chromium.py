"""A headless Chromium, spoken to over a pipe in its DevTools protocol."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """One tab."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return dict(answer["result"])
            self.events.append(answer)

    def open(self, path: Path) -> None:
        self.call("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def run(self, script: str) -> Any:
        """The value of an expression; the tools' own scripts run although the page forbids its own."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def theme(self, name: str, medium: str = "screen") -> None:
        self.call(
            "Emulation.setEmulatedMedia",
            media=medium,
            features=[{"name": "prefers-color-scheme", "value": name}],
        )

    def size(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def press(self, key: str) -> None:
        """Tab, Enter or an arrow."""
        numbers = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39}
        about = {"key": key, "code": key, "windowsVirtualKeyCode": numbers[key]}
        self.call("Input.dispatchKeyEvent", type="keyDown", text="\r" if key == "Enter" else "", **about)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def screenshot(self, path: Path) -> None:
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = os.read(self._from, 1 << 16)
            assert chunk, "the browser has gone"
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    assert COMMAND
    read_by_browser, to_browser = os.pipe()
    from_browser, written_by_browser = os.pipe()

    def place() -> None:
        # Through high numbers first: 3 and 4 may be among the four ends.
        for end, wanted in ((os.dup2(read_by_browser, 103), 3), (os.dup2(written_by_browser, 104), 4)):
            os.dup2(end, wanted)

    process = subprocess.Popen(
        [
            COMMAND,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
        ],
        preexec_fn=place,
        close_fds=False,
        stderr=subprocess.DEVNULL,
    )
    os.close(read_by_browser)
    os.close(written_by_browser)
    try:
        yield Page(to_browser, from_browser)
    finally:
        os.close(to_browser)
        os.close(from_browser)
        process.terminate()
        process.wait(20)
