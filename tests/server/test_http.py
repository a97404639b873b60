"""HTTP itself: what is refused, when, and how (S2, S9-S12, S33; docs/security.md)."""
import re
import socket
import threading
import time

from serve import Server, run

H = b"Host: localhost\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\n" + H + b"Content-Type: application/json\r\n"


def status(answer):
    m = re.match(rb"HTTP/1\.1 (\d+)", answer)
    return int(m.group(1)) if m else None


def test_host_names():
    """S2: a foreign Host gets 421; names of this machine and addresses are fine."""
    for host, want in (("localhost", 200), ("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("192.0.2.1", 200),
                       ("evil.example", 421), ("localhost.evil.example", 421), ("ocr.example", 200), ("[", 421)):
        assert server.call("GET", "/v1/models", headers={"Host": host})[0] == want, host


def test_sizes_of_heads():
    """S9"""
    get = b"GET /healthz HTTP/1.1\r\n" + H
    for head, want in ((b"GET /" + b"a" * 8300 + b" HTTP/1.1\r\n" + H, 414), (b"GET /" + b"a" * 90000 + b" HTTP/1.1\r\n" + H, 414),
                       (get + b"X-A: " + b"a" * 16400 + b"\r\n", 431), (get + b"X-A: " + b"a" * 90000 + b"\r\n", 431),
                       (get + b"X-A: a\r\n" * 101, 431), (get + b"X-A: a\r\n" * 90, 200),
                       (b"GET /" + b"a" * 8000 + b" HTTP/1.1\r\n" + H, 404)):
        assert status(server.raw(head + b"\r\n", 1)[0]) == want, (head[:40], want)


def test_no_smuggling():
    """S10: whatever leaves the length of a request open ends the connection, and nothing of it is answered as a request."""
    end = b"\r\n0\r\n\r\n"
    chunked = POST + b"Transfer-Encoding: chunked\r\n\r\n"
    cases = {
        "both lengths": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" + end,
        "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n123456",
        "two equal lengths": POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\n12345",
        "negative length": POST + b"Content-Length: -5\r\n\r\n",
        "signed length": POST + b"Content-Length: +5\r\n\r\n12345",
        "endless length": POST + b"Content-Length: 99999999999999999999\r\n\r\n",
        "blank before colon": POST + b"Content-Length : 5\r\n\r\n12345",
        "other coding": POST + b"Transfer-Encoding: gzip, chunked\r\n" + end,
        "bare CR": POST + b"X-A: b\rContent-Length: 5\r\n\r\n12345",
        "NUL": POST + b"X-A: b\0c\r\nContent-Length: 2\r\n\r\n{}",
        "NUL in the target": b"GET /healthz\0x HTTP/1.1\r\n" + H + b"\r\n",
        "folded line": POST + b"Content-Length: 5\r\n 0\r\n\r\n12345",
        "negative chunk": chunked + b"-5\r\nabcde\r\n0\r\n\r\n",
        "huge chunk": chunked + b"FFFFFFFFFFFFFFFFF\r\nabcde\r\n0\r\n\r\n",
        "odd chunk": chunked + b"5x\r\nabcde\r\n0\r\n\r\n",
        "two hosts": b"GET /healthz HTTP/1.1\r\n" + H + H + b"\r\n",
        "odd name": b"GET /healthz HTTP/1.1\r\n" + H + b"X A: b\r\n\r\n",
    }
    for name, data in cases.items():
        answer, closed = server.raw(data + b"GET /healthz HTTP/1.1\r\n" + H + b"\r\n", 3)
        assert closed, name
        assert b"HTTP/1.1 200" not in answer, (name, answer[:300])
        assert status(answer) in (None, 400, 413), (name, answer[:100])


def test_big_bodies():
    """S12: a declared body over the limit is refused before it is read, an undeclared one at the limit; a gigabyte announced costs no memory."""
    server.call("GET", "/healthz")
    before = server.rss()
    answer, closed = server.raw(POST + b"Content-Length: 1073741824\r\nExpect: 100-continue\r\n\r\n")
    assert status(answer) == 413 and closed and b"100 Continue" not in answer, answer[:200]
    answer, closed = server.raw(POST + b"Content-Length: 1073741824\r\n\r\n" + b"x" * 60000)
    assert status(answer) == 413 and closed, answer[:100]
    assert server.rss() - before < 2 << 20, (before, server.rss())
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    answer, closed = server.raw(POST + b"Transfer-Encoding: chunked\r\n\r\n" + piece * 40)
    assert status(answer) == 413 and closed, answer[:100]


def test_expect_continue():
    s = socket.create_connection(("127.0.0.1", server.port), timeout=5)
    s.sendall(POST + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    assert s.recv(100).startswith(b"HTTP/1.1 100"), "asks for the body"
    s.sendall(b"{}")
    assert status(s.recv(1000)) == 404  # no model is named
    s.close()


def test_cors():
    """S33: no header unless the origin is listed."""
    _, h, _ = server.call("GET", "/v1/models", headers={"Origin": "https://evil.example"})
    assert not any(k.lower().startswith("access-control") for k in h.keys())
    _, h, _ = server.call("GET", "/v1/models", headers={"Origin": "https://page.example"})
    assert h["Access-Control-Allow-Origin"] == "https://page.example" and "X-Request-Id" in h["Access-Control-Expose-Headers"]
    code, h, _ = server.call("OPTIONS", "/v1/jobs", headers={"Origin": "https://page.example"})
    assert code == 204 and "POST" in h["Access-Control-Allow-Methods"]
    assert server.call("OPTIONS", "/v1/jobs", headers={"Origin": "https://evil.example"})[0] == 403


def test_headers_of_answers():
    """S30, S31"""
    code, h, _ = server.call("GET", "/v1/models", headers={"X-Request-Id": "mine-1"})
    assert code == 200 and h["X-Request-Id"] == "mine-1"
    assert h["X-Content-Type-Options"] == "nosniff" and h["Cache-Control"] == "no-store"
    _, h, _ = server.call("GET", "/v1/models", headers={"X-Request-Id": "not mine!"})
    assert re.fullmatch(r"req_[a-z2-7]{24}", h["X-Request-Id"])
    code, h, _ = server.call("GET", "/")
    assert code == 200 and "default-src 'none'" in h["Content-Security-Policy"] and "unsafe" not in h["Content-Security-Policy"]
    assert h["Referrer-Policy"] == "no-referrer" and h["Cross-Origin-Opener-Policy"] == "same-origin"


def test_errors():
    code, _, body = server.call("GET", "/nothing", headers={"Accept": "application/problem+json"})
    assert code == 404 and b'"status":404' in body and b"/docs/errors#not_found" in body
    code, v = server.json("GET", "/nothing")
    assert code == 404 and v["error"]["code"] == "not_found" and v["error"]["request_id"].startswith("req_")
    code, h, _ = server.call("DELETE", "/v1/models")
    assert code == 405 and h["Allow"] == "GET"
    assert server.call("HEAD", "/healthz")[0] == 200


def slow(data, pace, results, name):
    """Send data, then `pace` bytes a second; what was answered and after how long."""
    start = time.time()
    s = socket.create_connection(("127.0.0.1", server.port), timeout=1)
    s.sendall(data)
    answer = b""
    while time.time() - start < 40:
        try:
            piece = s.recv(4096)
            if not piece:
                break
            answer += piece
        except socket.timeout:
            try:
                s.sendall(b"a" * pace)
            except OSError:
                break
        except OSError:
            break
    results[name] = (status(answer), time.time() - start)
    s.close()


def test_slow_clients():
    """S11: a header has 10 s, a body comes at 1 KiB/s or more; meanwhile others are answered as ever."""
    results = {}
    cases = {"header": (b"GET /healthz HTTP/1.1\r\nX-A: ", 1), "nothing": (b"", 0), "body": (POST + b"Content-Length: 100000\r\n\r\n{", 100),
             "second header": (b"GET /healthz HTTP/1.1\r\n" + H + b"\r\nGET /healthz HTTP/1.1\r\nX-A: ", 1)}
    threads = [threading.Thread(target=slow, args=(*v, results, k)) for k, v in cases.items()]
    for t in threads:
        t.start()
    worst = 0
    while any(t.is_alive() for t in threads):
        start = time.time()
        assert server.call("GET", "/healthz")[0] == 200
        worst = max(worst, time.time() - start)
        time.sleep(0.2)
    for t in threads:
        t.join()
    for name, (code, seconds) in results.items():
        assert code == (200 if name == "second header" else 408), (name, code)
        assert 9 < seconds < 30, (name, seconds)
    assert worst < 1, worst


with Server("--max-json", "2MiB", "--host-name", "ocr.example", "--cors-origin", "https://page.example", "--rate", "0",
            "--max-conns-ip", "0") as server:
    run([test_host_names, test_sizes_of_heads, test_no_smuggling, test_big_bodies, test_expect_continue, test_cors,
         test_headers_of_answers, test_errors, test_slow_clients])
    assert server.stop() == 0
