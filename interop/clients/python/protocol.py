"""The command protocol of the client programs, for those in Python.

Commands come on standard input, one a line, fields parted by tabs:

    produce BOOTSTRAP TOPIC CODEC FILE
    consume BOOTSTRAP TOPIC COUNT FILE

Each is answered on standard output by one line: "ok", "lacks WHY" when the
client does not know the codec, or "error WHY". Files hold records in the form
that internal/stream describes.
"""

import struct
import sys
import time

PATIENCE = 60  # seconds without progress before a command gives up


class Lacks(Exception):
    """The client library does not know what was asked."""


class StreamReader:
    def __init__(self, name):
        self.file = open(name, "rb", buffering=1 << 20)

    def __iter__(self):
        """Yields (partition, timestamp, key, value, headers)."""
        while True:
            head = self.file.read(12)
            if not head:
                return
            partition, timestamp = struct.unpack(">iq", head)
            key, value = self._bytes(), self._bytes()
            headers = []
            for _ in range(self._int()):
                name = self._bytes().decode()
                headers.append((name, self._bytes()))
            yield partition, timestamp, key, value, headers

    def _int(self):
        return struct.unpack(">i", self.file.read(4))[0]

    def _bytes(self):
        size = self._int()
        return None if size < 0 else self.file.read(size)


class StreamWriter:
    def __init__(self, name):
        self.file = open(name, "wb", buffering=1 << 20)

    def write(self, partition, timestamp, key, value, headers):
        parts = [struct.pack(">iq", partition, timestamp), field(key), field(value)]
        parts.append(struct.pack(">i", len(headers or ())))
        for name, content in headers or ():
            parts.append(field(name.encode()))
            parts.append(field(content))
        self.file.write(b"".join(parts))

    def close(self):
        self.file.close()


def field(content):
    if content is None:
        return b"\xff\xff\xff\xff"
    return struct.pack(">i", len(content)) + bytes(content)


class Deadline:
    """Fails a command that makes no progress for PATIENCE seconds."""

    def __init__(self):
        self.progress()

    def progress(self):
        self.at = time.monotonic() + PATIENCE

    def check(self, done, wanted):
        if time.monotonic() > self.at:
            raise TimeoutError(f"{done} of {wanted} records after {PATIENCE} s without progress")


def serve(produce, consume):
    """Answers commands until standard input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries may print
    for line in sys.stdin:
        verb, *arguments = line.rstrip("\n").split("\t")
        try:
            {"produce": produce, "consume": consume}[verb](*arguments)
            answer = "ok"
        except Lacks as problem:
            answer = f"lacks {problem}"
        except Exception as problem:  # the answer must tell whatever went wrong
            answer = f"error {type(problem).__name__}: {problem}"
        answers.write(" ".join(answer.split()) + "\n")
        answers.flush()
