"""Load from one machine, bounded in time; prints figures, exit 1 when a limit does not hold. Not a test of `make test`.
    python3 tests/server/load.py RECTO SOURCE idle|slow|floor
idle   1000 event streams that only listen, 100 documents read meanwhile; slow: 1000 headers that never end;
floor  /healthz by wrk (64 connections, 10 s)."""
import json
import re
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time

from serve import Server, png, wait_for

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


def idle():
    with Server(*OPTIONS, script=[{"text": "word ", "repeat": "and {page} ", "times": 10}]) as s:
        say("healthz alone", health(s, 3))
        before = s.rss()
        held = open_many(s, 1000, b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert wait_for(lambda: s.metric("recto_sse_clients") == 1000)
        print(f"1000 streams: {(s.rss() - before) / 2**20:.1f} MiB more", flush=True)
        jobs, errors = [], []

        def upload(k):
            for i in range(10):
                status, _, body = s.call("POST", f"/v1/jobs?name=d{k}-{i}.png", png(seed=k * 10 + i), {"Content-Type": "image/png"})
                (jobs if status == 202 else errors).append(json.loads(body).get("id"))

        threads = [threading.Thread(target=upload, args=(k,)) for k in range(10)]
        start = time.time()
        for t in threads:
            t.start()
        done = lambda: s.metric("recto_job_pages_total") >= 100
        took = health(s, 120, done)
        for t in threads:
            t.join()
        assert not errors and len(jobs) == 100, errors
        assert wait_for(done, 60)
        say(f"healthz while 100 documents are read ({time.time() - start:.1f} s)", took)
        assert all(s.json("GET", "/v1/jobs/" + j)[1]["pages"]["ok"] == 1 for j in jobs)
        ids, whole = [], 0
        for c in held:
            c.settimeout(5)
            text = b""
            while text.count(b'"state":"done"') < 100:
                text += c.recv(1 << 20)
            ids = [int(x) for x in re.findall(rb"^id: (\d+)$", text, re.M)]
            assert ids == sorted(set(ids))
            whole += 1
            c.close()
        print(f"{whole} clients were told of all 100, ids rising; resident {s.rss() / 2**20:.0f} MiB, "
              f"{int(s.metric('recto_process_open_fds'))} descriptors", flush=True)


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


{"idle": idle, "slow": slow, "floor": floor}[sys.argv[3]]()
