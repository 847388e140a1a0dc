"""What group members in Python share: see internal/member for what they say."""

import sys
import threading
import time

COMMIT_EVERY = 0.2  # seconds


class Arguments:
    def __init__(self):
        self.bootstrap, self.group, self.topic, self.client, assignors, instance, session, heartbeat, *self.more = sys.argv[1:]
        self.assignors = assignors.split(",")
        self.instance = None if instance == "-" else instance
        self.session, self.heartbeat = int(session), int(heartbeat)


def say(kind, partitions):
    """Tells an event; partitions may be none."""
    partitions = list(partitions)
    if partitions:
        out(f"{kind} {','.join(str(p) for p in partitions)}")


def handled(partition, offsets):
    out(f"handled {partition} {offsets[0]} {offsets[-1]} {len(offsets)}")


def committed(partition, offset):
    out(f"committed {partition} {offset}")


def failed(problem):
    out("failed " + " ".join(f"{type(problem).__name__}: {problem}".split()))


answers = sys.stdout
sys.stdout = sys.stderr  # libraries may print


def out(text):
    answers.write(f"{time.time_ns() // 1000} {text}\n")
    answers.flush()


def at_the_end(stop):
    """Calls stop when standard input ends."""

    def wait():
        sys.stdin.read()
        stop()

    threading.Thread(target=wait, daemon=True).start()


class Pending:
    """Offsets that are handled and not yet committed, by partition."""

    def __init__(self):
        self.offsets, self.since = {}, time.monotonic()

    def due(self):
        return self.offsets and time.monotonic() - self.since >= COMMIT_EVERY

    def of(self, partitions):
        return {p: o for p, o in self.offsets.items() if p in set(partitions)}

    def done(self, offsets):
        self.since = time.monotonic()
        for p, o in offsets.items():
            if self.offsets.get(p) == o:
                del self.offsets[p]

    def drop(self, partitions):
        for p in partitions:
            self.offsets.pop(p, None)
