"""A server for tests: `recto serve` on a free port over a scripted engine, and small clients for it.

A script (src/script.h) says what the model reads; the rest is the program as it is. Nothing but Python's standard library."""
import base64
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

RECTO, SOURCE = sys.argv[1], sys.argv[2]


def png(lines=12, width=400, height=560, seed=0):
    """A page of bars that look like lines of words."""
    row = bytearray()
    pitch = height // (lines + 1)
    for y in range(height):
        ink = (y % pitch) < pitch // 2 and pitch // 2 < y < height - pitch
        line = bytearray(b"\xff" * width)
        if ink:
            for x in range(30, width - 60, 48 + (y // pitch * 7 + seed) % 20):
                line[x:x + 36] = b"\x00" * 36
        row += b"\0" + line
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(row))) + chunk(b"IEND", b"")


def pdf(pages):
    """A PDF of that many pages, each with bars on it."""
    out, at = b"%PDF-1.4\n", []

    def add(body):
        nonlocal out
        at.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (len(at), body)

    bars = b"".join(b"40 %d 200 9 re f " % y for y in range(60, 340, 22))
    kids = b" ".join(b"%d 0 R" % (4 + i) for i in range(pages))
    add(b"<</Type/Catalog/Pages 2 0 R>>")
    add(b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, pages))
    add(b"<</Length %d>>stream\n%s\nendstream" % (len(bars), bars))
    for _ in range(pages):
        add(b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 280 400]/Contents 3 0 R>>")
    xref = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(at) + 1)
    out += b"".join(b"%010d 00000 n \n" % a for a in at)
    return out + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(at) + 1, xref)


class Server:
    """options: more arguments; script: what the model reads (a list of entries), None: the mini model itself."""

    def __init__(self, *options, script=({"text": "page {page} of {document}"},), data=None, env=None, ready=True):
        self.dir = tempfile.TemporaryDirectory(prefix="recto-test-")
        self.data = data or os.path.join(self.dir.name, "data")
        self.options, self.env = list(options), env or {}
        if script is not None:
            path = os.path.join(self.dir.name, "script.json")
            with open(path, "w") as f:
                json.dump({"pages": list(script)}, f)
            self.options += ["--device", "script:" + path]
        self.log = open(os.path.join(self.dir.name, "log"), "ab")
        self.start(ready)

    def start(self, ready=True):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        env = {**os.environ, "RECTO_CONFIG": "/dev/null", "TMPDIR": self.dir.name, **self.env}
        self.process = subprocess.Popen(
            [RECTO, "serve", "--listen", f"127.0.0.1:{self.port}", "--data", self.data, "--disk-min", "0", *self.options],
            stderr=self.log, env=env)
        if ready:
            self.wait_ready()

    def wait_ready(self, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"recto serve ended with {self.process.returncode}: {self.read_log()}")
            try:
                if self.call("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise AssertionError("not ready: " + self.read_log())

    def read_log(self):
        with open(os.path.join(self.dir.name, "log"), errors="replace") as f:
            return f.read()

    def call(self, method, path, body=None, headers=None, timeout=60):
        """(status, headers, bytes)"""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request(method, path, body, headers or {})
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def json(self, method, path, value=None, headers=None, timeout=60):
        """(status, object)"""
        body = None if value is None else json.dumps(value)
        more = {"Content-Type": "application/json"} if body else {}
        status, _, data = self.call(method, path, body, {**more, **(headers or {})}, timeout)
        return status, json.loads(data) if data else None

    def raw(self, data, wait=2.0):
        """Whatever comes back for these bytes until the server closes or `wait` seconds of silence; (bytes, closed)."""
        s = socket.create_connection(("127.0.0.1", self.port))
        s.settimeout(wait)
        out = b""
        try:
            s.sendall(data)
            while True:
                piece = s.recv(65536)
                if not piece:
                    return out, True
                out += piece
        except socket.timeout:
            return out, False
        except (ConnectionResetError, BrokenPipeError):
            return out, True
        finally:
            s.close()

    def metric(self, name):
        """Sum of all samples of a family, with or without labels."""
        text = self.call("GET", "/metrics")[2].decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.startswith(name + " ") or line.startswith(name + "{"))

    def rss(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(60)
        self.log.flush()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.dir.cleanup()


def data_url(data, kind="image/png"):
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def image_part(data=None):
    return {"type": "image_url", "image_url": {"url": data_url(data or png())}}


def file_part(data, name="a.pdf"):
    return {"type": "file", "file": {"filename": name, "file_data": data_url(data, "application/pdf")}}


def chat_body(*parts, **more):
    return {"model": "deepseek-ocr-2", "messages": [{"role": "user", "content": list(parts)}], **more}


def wait_for(what, seconds=20):
    end = time.time() + seconds
    while time.time() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


def run(tests):
    """Run the functions in order; exit 1 at the first that fails, with its name."""
    for test in tests:
        start = time.time()
        try:
            test()
        except BaseException:
            print(f"FAILED: {test.__name__}", flush=True)
            raise
        print(f"{test.__name__}: {time.time() - start:.1f} s", flush=True)
