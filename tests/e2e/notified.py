# SPDX-License-Identifier: BSD-3-Clause
"""A service manager for programs that report their state: systemd's end of NOTIFY_SOCKET."""
import socket
import threading
import time

import harness


class Manager:
    """systemd's end of NOTIFY_SOCKET: all messages, with their arrival times."""

    def __init__(self, test, address):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self.address = address
        self._messages = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        test.addCleanup(self._end)

    def _end(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _listen(self):
        while message := self._socket.recv(4096):
            self._messages.append((time.monotonic(), message.decode()))

    def starter(self, watchdog_us=None):
        """Return a function that starts a program as systemd would: WATCHDOG_PID is the process
        itself."""
        watchdog = "" if watchdog_us is None else \
            "WATCHDOG_USEC=%d WATCHDOG_PID=$$ " % watchdog_us
        return ("sh", "-c", "NOTIFY_SOCKET=%s %sexec \"$@\"" % (self.address, watchdog), "sh")

    def last(self, message):
        """Return when it last arrived, by time.monotonic(), or None if never."""
        return max((when for when, text in list(self._messages) if text == message), default=None)

    def messages(self):
        return [message for _, message in list(self._messages)]

    def count(self, message):
        return self.messages().count(message)

    def wait_for(self, condition, what):
        harness.wait_for(lambda: condition(self), lambda: "%s: %s" % (what, self.messages()))
