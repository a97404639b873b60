"""kill -9 of `recto serve` at ten seeded moments of a job of 200 pages that came over HTTP. A client follows the event stream
and reconnects with Last-Event-ID: it finds no gap and no repeat, and every page ends exactly once (docs/jobs.md)."""
import http.client
import json
import random
import signal
import struct
import threading
import time

from serve import Server, run

PAGES, KILLS, SEED = 200, 10, 20261130
SCRIPT = [{"text": "a few words of page {page}", "token_ms": 4}]


def tiff(pages, side=96):
    """That many grey pages of bars, each a little different."""
    out = b"II*\0\x08\0\0\0"
    for page in range(pages):
        row = lambda y: bytes(0 if y // 8 % 2 == 0 and x > 8 and (x * 7 + page) % 11 < 7 else 255 for x in range(side))
        ink, white = row(16), b"\xff" * side
        entries = [(256, 4, side), (257, 4, side), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, len(out) + 114), (277, 3, 1),
                   (278, 4, side), (279, 4, side * side)]
        after = len(out) + 114 + side * side if page + 1 < pages else 0
        out += struct.pack("<H", 9) + b"".join(struct.pack("<HHII", tag, kind, 1, v) for tag, kind, v in entries)
        out += struct.pack("<I", after) + b"".join(ink if y > 8 and y // 8 % 2 == 0 else white for y in range(side))
    return out


class Follower:
    """A client of /v1/events as a browser is one: after a cut it comes back with the last id that it has seen whole."""

    def __init__(self, s, after):
        self.s, self.last, self.events, self.wrong, self.n_connect = s, after, [], None, 0
        self.is_over = False
        self.thread = threading.Thread(target=self.follow)
        self.thread.start()

    def follow(self):
        while not self.is_over and not self.wrong:
            try:
                self.connect()
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)

    def connect(self):
        c = http.client.HTTPConnection("127.0.0.1", self.s.port, timeout=30)
        try:
            c.request("GET", "/v1/events", headers={"Last-Event-ID": str(self.last)})
            r = c.getresponse()
            if r.status != 200:
                r.read()
                return time.sleep(0.02)
            self.n_connect += 1
            self.read(r)
        finally:
            c.close()

    def read(self, r):
        event = {}
        for line in iter(r.readline, b""):
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                event[name] = value
            elif line == b"\n":
                if "event" in event and not self.take(event):
                    return
                event = {}

    def take(self, event):
        if event["event"] not in ("job", "page"):
            self.wrong = self.wrong or (f"{event['event']} was told" if event["event"] != "bye" else None)
            return False
        number, data = int(event["id"]), json.loads(event["data"])
        if number != self.last + 1:
            self.wrong = f"event {number} came behind {self.last}"
            return False
        self.last = number
        self.events.append((event["event"], data))
        return not self.is_over

    def ended(self):
        return [e[1] for e in list(self.events) if e[0] == "page" and e[1]["state"] == "ended"]

    def wait(self, what, seconds=60):
        end = time.time() + seconds
        while time.time() < end and not what():
            assert not self.wrong, self.wrong
            time.sleep(0.002)
        assert what(), f"{len(self.ended())} pages have ended, {self.n_connect} connections: {self.s.read_log()[-2000:]}"


def test_killed_ten_times():
    rng = random.Random(SEED)
    with Server("--rate", "0", script=SCRIPT) as s:
        f = Follower(s, 0)
        try:
            status, _, body = s.call("POST", "/v1/jobs?name=long.tif&rotate=0", tiff(PAGES), {"Content-Type": "image/tiff"})
            job = json.loads(body)
            assert status == 202 and job["pages"]["total"] == PAGES, job
            for _ in range(KILLS):
                until = len(f.ended()) + rng.randrange(5, 21)
                f.wait(lambda: len(f.ended()) >= until)
                time.sleep(rng.random() * 0.03)  # not only behind a commit
                assert s.process.poll() is None
                s.stop(signal.SIGKILL)
                s.start()
            f.wait(lambda: ("job", "done") in [(kind, v.get("state")) for kind, v in f.events[-3:]])
            assert f.n_connect > KILLS, "each death cut the stream"
            ended = f.ended()
            assert sorted(e["page"] for e in ended) == list(range(1, PAGES + 1)), "a page has ended twice or never"
            assert all(e["status"] == "ok" and e["attempt"] == 1 for e in ended), [e for e in ended if e["status"] != "ok"]
            text = s.call("GET", f"/v1/jobs/{job['id']}/result.txt")[2].decode().split()
            assert [int(w) for w in text if w.isdigit()] == list(range(1, PAGES + 1))
        finally:
            f.is_over = True
            s.stop()
            f.thread.join()


run([test_killed_ten_times])
