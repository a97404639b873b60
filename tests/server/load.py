"""Load from one machine, bounded in time; prints figures, exit 1 when a limit does not hold. Not a test of `make test`.
    python3 tests/server/load.py RECTO SOURCE idle|burst|slow|floor
idle   1000 event streams that only listen, 100 documents of 5 pages read meanwhile; burst: 1000 pictures instead;
slow   1000 headers that never end
floor  /healthz by wrk (64 connections, 10 s)."""
import json
import multiprocessing
import os
import re
import resource
import select
import shutil
import socket
import subprocess
import sys
import threading
import time

from serve import Server, pdf, png, wait_for

resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
OPTIONS = ["--rate", "0", "--max-conns", "4096", "--max-conns-ip", "0", "--drain-grace", "0"]


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(len(values) * p))]


def health(s, seconds, until=lambda: False):
    """Milliseconds of calls one after the other, on one connection each."""
    took, end = [], time.time() + seconds
    while time.time() < end and not until():
        start = time.time()
        assert s.call("GET", "/healthz")[0] == 200
        took.append((time.time() - start) * 1e3)
        time.sleep(0.005)
    return took


def open_many(s, n, request):
    held = []
    for _ in range(n):
        c = socket.create_connection(("127.0.0.1", s.port))
        c.sendall(request)
        held.append(c)
    return held


def say(what, took):
    print(f"{what}: {len(took)} calls, p50 {percentile(took, .5):.1f} ms, p99 {percentile(took, .99):.1f} ms", flush=True)


class Listeners:
    """Event streams that are read as they come: of each the last id is known, of some all ids."""
    LOOKED_AT = 20

    def __init__(self, s, n):
        self.held = open_many(s, n, b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.text = {c.fileno(): b"" for c in self.held[:self.LOOKED_AT]}
        self.tail = {c.fileno(): b"" for c in self.held}
        self.is_over = False
        self.poll = select.epoll()
        for c in self.held:
            c.setblocking(False)
            self.poll.register(c, select.EPOLLIN)
        self.by_fd = {c.fileno(): c for c in self.held}
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while not self.is_over:
            for fd, _ in self.poll.poll(0.5):
                piece = self.by_fd[fd].recv(1 << 18)
                assert piece, "a stream has ended"
                self.tail[fd] = (self.tail[fd] + piece)[-2000:]
                if fd in self.text:
                    self.text[fd] += piece

    def ids_in(self, text):
        return [int(x) for x in re.findall(rb"^id: (\d+)\nevent", re.sub(rb"\r\n[0-9a-f]+\r\n", b"", text), re.M)]

    def ids(self):
        return [self.ids_in(t.split(b"\r\n\r\n", 1)[1]) for t in self.text.values()]

    def last(self):
        return [max(self.ids_in(t), default=0) for t in self.tail.values()]


def listen(pipe, port, n):
    """In a process of its own, so that the one that asks for /healthz is not kept from its clock."""
    class Where:
        pass
    s = Where()
    s.port = port
    streams = Listeners(s, n)
    pipe.send("open")
    while pipe.recv() != "end":
        pipe.send((min(streams.last()), max(streams.last())))
    pipe.send((streams.ids(), resource.getrusage(resource.RUSAGE_SELF)[:2]))


def cpu_s(s):
    with open(f"/proc/{s.process.pid}/stat") as f:
        user, system = f.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def idle(n_stream=1000, n_document=100, n_page=5):
    """n_page 0: pictures of one page instead of PDFs."""
    document = lambda i: (pdf(n_page), "pdf", "application/pdf") if n_page else (png(seed=i), "png", "image/png")
    n_read = max(n_page, 1)
    script = [{"text": "word ", "repeat": "and {page} ", "times": 10}]
    with Server(*OPTIONS, script=script) as s:
        say("healthz alone", health(s, 3))
        before = s.rss()
        ours, theirs = multiprocessing.Pipe()
        multiprocessing.Process(target=listen, args=(theirs, s.port, n_stream), daemon=True).start()
        assert ours.recv() == "open" and wait_for(lambda: s.metric("recto_sse_clients") == n_stream)
        print(f"{n_stream} streams: {(s.rss() - before) / 2**20:.1f} MiB more", flush=True)
        jobs, errors = [], []

        def upload(k):
            for i in range(n_document // 10):
                data, suffix, kind = document(k * 100 + i)
                status, _, body = s.call("POST", f"/v1/jobs?name=d{k}-{i}.{suffix}", data, {"Content-Type": kind})
                (jobs if status == 202 else errors).append(json.loads(body).get("id"))

        threads = [threading.Thread(target=upload, args=(k,)) for k in range(10)]
        start, cpu = time.time(), cpu_s(s)
        for t in threads:
            t.start()
        is_done = lambda: s.metric("recto_job_pages_total") >= n_document * n_read
        took = []
        while not is_done() and time.time() < start + 240:
            took += health(s, 1)
        for t in threads:
            t.join()
        seconds, cpu = time.time() - start, cpu_s(s) - cpu
        assert not errors and len(jobs) == n_document, errors
        assert all(s.json("GET", "/v1/jobs/" + j)[1]["pages"]["ok"] == n_read for j in jobs)
        say(f"healthz while {n_document} documents of {n_read} pages are read ({seconds:.1f} s, "
            f"{100 * cpu / seconds:.0f} % of a core)", took)

        n_event = max(s.json("GET", "/v1/jobs/" + j)[1]["seq"] for j in jobs)
        low, late = 0, time.time()
        while low < n_event and time.time() < late + 30:
            ours.send("last")
            low, high = ours.recv()
        late = time.time() - late
        ours.send("end")
        ids, (user, system) = ours.recv()
        assert low == high == n_event and all(i == list(range(1, n_event + 1)) for i in ids), (low, high, n_event, [len(i) for i in ids])
        print(f"{n_stream} clients were told of all {n_event} events {late:.1f} s later, {len(ids)} looked at: no gap; their reader used "
              f"{user + system:.1f} s; resident {s.rss() / 2**20:.0f} MiB, {int(s.metric('recto_process_open_fds'))} descriptors", flush=True)


def slow():
    with Server(*OPTIONS) as s:
        alone = health(s, 4)
        say("healthz alone", alone)
        held = open_many(s, 1000, b"GET /healthz HTTP/1.1\r\nX: ")
        among = health(s, 6)
        say("healthz among 1000 headers that do not end", among)
        wait_for(lambda: s.metric("recto_connections") < 20, 20)
        told = sum(1 for c in held if c.recv(100).startswith(b"HTTP/1.1 408"))
        print(f"{told} of them got 408")
        assert told == 1000 and percentile(among, .99) < max(2 * percentile(alone, .99), 20)


def floor():
    assert shutil.which("wrk"), "wrk is not installed"
    with Server(*OPTIONS) as s:
        print(subprocess.run(["wrk", "-t2", "-c64", "-d10s", "--latency", f"http://127.0.0.1:{s.port}/healthz"],
                             capture_output=True, text=True).stdout)


{"idle": idle, "burst": lambda: idle(1000, 1000, 0), "slow": slow, "floor": floor}[sys.argv[3]]()
