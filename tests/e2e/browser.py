# SPDX-License-Identifier: BSD-3-Clause
"""A page in a real browser: headless Chromium, controlled through its pipe for developer tools."""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-dev-shm-usage", "--force-device-scale-factor=1", "--remote-debugging-pipe",
             "about:blank")


def find():
    """Return the browser's path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """Leaving the with block stops the browser and removes its profile."""

    def __init__(self, path, timeout=120):
        self._timeout, self._serial, self._rest, self._events = timeout, 0, b"", []
        self._profile = tempfile.TemporaryDirectory(prefix="unecho-browser-",
                                                    ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def at_3_and_4():
            # Copy first, because either end may already be descriptor 3 or 4.
            high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 5) for end in (to_browser, from_browser)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [path, "--user-data-dir=" + self._profile.name, *ARGUMENTS], preexec_fn=at_3_and_4,
            close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=dict(os.environ, HOME=self._profile.name))
        os.close(to_browser)
        os.close(from_browser)
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target,
                                  flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        self._profile.cleanup()

    def _ask(self, method, session=None, **parameters):
        self._serial += 1
        message = {"id": self._serial, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._serial:
                if "error" in answer:
                    raise AssertionError("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self._events.append(answer)

    def _receive(self):
        end = time.monotonic() + self._timeout
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0, end - time.monotonic()))
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise AssertionError("the browser does not answer")
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def ask(self, method, **parameters):
        """Send a command of the DevTools protocol to the page."""
        return self._ask(method, self._session, **parameters)

    def events(self, name):
        """Return the events reported since the page was opened."""
        return [event["params"] for event in self._events if event.get("method") == name]

    def resize(self, width, height=800, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, page, width, height=800, dark=False):
        """page: a file's path, or an address."""
        self.resize(width, height, dark)
        self._events.clear()
        self.ask("Page.navigate", url=page if "://" in str(page)
                 else pathlib.Path(page).absolute().as_uri())
        while not self.events("Page.loadEventFired"):
            self._events.append(self._receive())

    def evaluate(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True,
                          awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key, code=0, modifiers=0):
        """Press a key by its name; keys that are no text need a code: ("Tab", 9)."""
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, modifiers=modifiers,
                     windowsVirtualKeyCode=code)

    def screenshot(self, path, top=0, height=None):
        """Save a picture of the whole page, or of a part of it."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                        clip={"x": 0, "y": top, "width": size["width"],
                              "height": height or size["height"] - top, "scale": 1})
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))
