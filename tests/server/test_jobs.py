"""Jobs over HTTP: uploads, events, files, whose they are (S4, S12, S14-S16, S30, S37; docs/security.md)."""
import http.client
import json
import os
import socket
import subprocess
import tempfile
import threading
import time

from serve import RECTO, Server, pdf, png, run, wait_for

B = "----recto"


def form(*parts, boundary=B, end=True):
    """(name, filename or None, bytes) ..."""
    out = b""
    for name, filename, data in parts:
        head = f'Content-Disposition: form-data; name="{name}"' + (f'; filename="{filename}"' if filename is not None else "")
        out += f"--{boundary}\r\n{head}\r\n\r\n".encode() + data + b"\r\n"
    return out + (f"--{boundary}--\r\n".encode() if end else b"")


def post(body, s=None, path="/v1/jobs", headers=None, **more):
    more = {"Content-Type": f"multipart/form-data; boundary={B}", **(headers or {})}
    status, h, data = (s or server).call("POST", path, body, more)
    return status, h, json.loads(data)


def ended(job, s=None, headers=None):
    s = s or server
    state = lambda: s.json("GET", f"/v1/jobs/{job}", headers=headers)[1]["state"]
    assert wait_for(lambda: state() not in ("queued", "running"), 30)
    return s.json("GET", f"/v1/jobs/{job}", headers=headers)[1]


def read_events(s, path, until, headers=None, seconds=20):
    """[(id, type, object)] of a stream until one for which until(type, object) holds."""
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=seconds)
    c.request("GET", path, headers=headers or {})
    r = c.getresponse()
    assert r.status == 200, r.read()
    got, kind, number, data = [], None, None, None
    try:
        while True:
            line = r.readline().decode()
            if not line:
                return got
            line = line.rstrip("\n")
            if line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif line == "" and kind:
                got.append((number if kind in ("job", "page", "edit", "deleted", "reset") else None, kind, data))
                if until(kind, data):
                    return got
                kind = data = None
    finally:
        c.close()


def test_upload():
    status, h, job = post(form(("options", None, b'{"pages":"1-2"}'), ("file", "a.pdf", pdf(3))))
    assert status == 202 and h["Location"] == "/v1/jobs/" + job["id"], job
    done = ended(job["id"])
    assert done["state"] == "done" and done["pages"]["ok"] == 2 and done["name"] == "a.pdf", done
    status, h, data = server.call("GET", f"/v1/jobs/{job['id']}/result.txt")
    assert status == 200 and b"page 1 of" in data and b"page 2 of" in data
    etag = h["ETag"]
    assert server.call("GET", f"/v1/jobs/{job['id']}/result.txt", headers={"If-None-Match": etag})[0] == 304
    assert "a.txt" in h["Content-Disposition"]


def test_raw_upload():
    status, _, job = post(png(), path="/v1/jobs?name=x.png&mode=free", headers={"Content-Type": "image/png"})
    assert status == 202 and job["name"] == "x.png", job
    assert ended(job["id"])["pages"]["ok"] == 1
    status, h, data = server.call("GET", f"/v1/jobs/{job['id']}/input/0")
    assert status == 200 and data == png()


def test_several_files():
    status, _, job = post(form(("file", "1.png", png()), ("file", "2.pdf", pdf(2)), ("file", "3.png", png(seed=3))))
    assert status == 202 and ended(job["id"])["pages"]["ok"] == 4
    rows = server.json("GET", f"/v1/jobs/{job['id']}/pages")[1]["data"]
    assert [r["page"] for r in rows] == [1, 2, 3, 4] and all(r["status"] == "ok" for r in rows)


def test_refused_uploads():
    """S14, S15: exact boundaries, few parts, short headers; the kind is in the bytes."""
    cases = [
        (form(("file", "a.pdf", b"MZ not a document")), 415, "unsupported_media_type"),
        (form(("file", "a.png", b"<html><body>hello</body></html>")), 415, "unsupported_media_type"),
        (form(("options", None, b"{}")), 400, "invalid_value"),
        (form(("options", None, b'{"pagess":"1"}'), ("file", "a.png", png())), 400, "unknown_option"),
        (form(("options", None, b'{"pages":"x"}'), ("file", "a.png", png())), 400, "invalid_value"),
        (form(("options", None, b'{"pages":"9"}'), ("file", "a.png", png())), 422, "page_out_of_range"),
        (form(("options", None, b"{" + b" " * 70000), ("file", "a.png", png())), 400, "bad_request"),
        (form(("file", "a.png", png()), end=False), 400, "bad_request"),
        (form(("picture", "a.png", png())), 400, "bad_request"),
        (form(*[("options", None, b"{}")] * 65), 400, "bad_request"),
        (b"--" + B.encode() + b"\r\nX: " + b"a" * 5000 + b"\r\n\r\n", 400, "bad_request"),
        (form(("file", "a.png", png()), boundary=B + "x"), 400, "bad_request"),
        (form(("file", "a.pdf", b"%PDF-1.4\nnothing")), 422, "document_unreadable"),
    ]
    for body, want, code in cases:
        status, _, v = post(body)
        assert status == want and v["error"]["code"] == code, (body[:120], status, v)
    assert post(form(("file", "a.png", png())), headers={"Content-Type": "multipart/form-data"})[0] == 400
    status, _, job = post(form(("file", "report.exe", png())))
    assert status == 202 and job["input"][0]["media_type"] == "image/png"


def test_boundary_in_content():
    """What looks almost like a delimiter is content."""
    tail = b"\r\n--" + B.encode()[:-1] + b"\r\n\r\n--"
    data = png() + tail
    status, _, job = post(form(("file", "a.png", data)))
    assert status == 202 and job["input"][0]["bytes"] == len(data)
    assert server.call("GET", f"/v1/jobs/{job['id']}/input/0")[2] == data


def test_names_are_data():
    """S16"""
    for name in ("../../../../tmp/evil.png", "C:\\x\\y.png", "/etc/passwd", "a\\\"b.png", "x" * 900, "😀" * 200):
        status, _, job = post(form(("file", name, png())))
        assert status == 202, (name, job)
        ended(job["id"])
        status, h, _ = server.call("GET", f"/v1/jobs/{job['id']}/result.md")
        assert status == 200 and "\n" not in h["Content-Disposition"] and "/" not in h["Content-Disposition"]
    assert not os.path.exists("/tmp/evil.png")


def test_big_uploads():
    """S12: over --max-upload, declared or not; nothing is left behind."""
    answer, closed = server.raw(b"POST /v1/jobs?name=a.pdf HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\n\r\n%PDF")
    assert b" 413 " in answer.split(b"\r\n")[0] and closed, answer[:100]
    piece = b"40000\r\n" + b"x" * 0x40000 + b"\r\n"
    head = f"POST /v1/jobs?name=a.pdf HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    first = b"400\r\n" + pdf(1)[:0x400].ljust(0x400) + b"\r\n"
    answer, closed = server.raw(head + first + piece * 20, 3)
    assert b" 413 " in answer.split(b"\r\n")[0] and closed, answer[:100]
    assert wait_for(lambda: not os.listdir(os.path.join(server.data, "incoming")))


def test_idempotency():
    body, other = form(("file", "a.png", png(seed=5))), form(("file", "a.png", png(seed=6)))
    ask = lambda b: post(b, headers={"Idempotency-Key": "once"})
    _, h1, first = ask(body)
    status, h2, again = ask(body)
    assert status == 202 and again["id"] == first["id"] and h2["Idempotent-Replayed"] == "true" and "Idempotent-Replayed" not in h1
    status, _, v = ask(other)
    assert status == 422 and v["error"]["code"] == "idempotency_mismatch"


def test_events():
    """Replay from any id, no gap and no repeat, one stream or all; the newest id comes first."""
    _, _, job = post(form(("file", "e.pdf", pdf(6))))
    path = f"/v1/jobs/{job['id']}/events"
    last = lambda kind, data: kind == "job" and data["state"] == "done"
    ended(job["id"])
    everything = read_events(server, path + "?after=0", last)
    ids = [e[0] for e in everything]
    assert ids == sorted(set(ids)) and sum(1 for e in everything if e[1] == "page" and e[2]["state"] == "ended") == 6
    for cut in (0, 3, len(ids) - 2):
        rest = read_events(server, path, last, headers={"Last-Event-ID": str(ids[cut])})
        assert [e[0] for e in rest] == ids[cut + 1:]
    mine = [e for e in read_events(server, "/v1/events?after=0", lambda k, d: last(k, d) and d["id"] == job["id"])
            if e[2].get("job", e[2].get("id")) == job["id"]]
    assert [e[0] for e in mine] == ids
    assert server.call("GET", path + "?after=x")[0] == 400


def test_events_from_now_on():
    """What happens behind the answer's header is told, however soon: a page asks for the stream, then uploads."""
    for i in range(6):
        c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        c.request("GET", "/v1/events")
        r = c.getresponse()
        job = post(form(("file", "n.png", png(seed=30 + i))))[2]
        for line in iter(r.readline, b""):
            v = json.loads(line[6:]) if line.startswith(b"data: ") else {}
            if v.get("job") == job["id"] or v.get("id") == job["id"]:
                assert v.get("id") and v["state"] == "queued", v
                break
        c.close()
        ended(job["id"])


def test_events_while_reading():
    """Six clients that come and go while a job runs: what each is told has no gap."""
    _, _, job = post(form(("file", "f.pdf", pdf(6))), slow)
    path, want, wrong = f"/v1/jobs/{job['id']}/events", None, []
    done = lambda kind, data: kind == "job" and data["state"] == "done"

    def follow(k):
        ids, at = [], "0"
        while True:
            n = 0

            def some(kind, data):
                nonlocal n
                n += 1
                return n >= 3 + k or done(kind, data)

            got = read_events(slow, path + "?after=" + at, some)
            ids += [e[0] for e in got]
            at = str(ids[-1])
            if done(*got[-1][1:]):
                break
        wrong.append(ids)

    threads = [threading.Thread(target=follow, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    want = [e[0] for e in read_events(slow, path + "?after=0", done)]
    assert all(ids == want for ids in wrong), (want, wrong)


def test_stats_in_the_stream():
    _, _, job = post(form(("file", "g.png", png())), slow)
    got = read_events(slow, f"/v1/events?watch={job['id']}:1&stats=1", lambda kind, data: kind == "job" and data["state"] == "done")
    stats = [e[2] for e in got if e[1] == "stats"]
    assert stats and stats[0]["limits"]["upload_bytes"] and "devices" in stats[0], got


def test_text_while_reading():
    """The text of a page comes in pieces, each where the one before it ended, and together they are what was read."""
    _, _, job = post(form(("file", "w.pdf", pdf(2)), ("options", None, b'{"rotate": 0}')), slow)
    got = read_events(slow, f"/v1/jobs/{job['id']}/events?watch=2&after=0", lambda kind, data: kind == "job" and data["state"] == "done")
    pieces, so_far = [e[2] for e in got if e[1] == "text"], ""
    for p in pieces:
        assert (p["job"], p["page"], p["attempt"], p["offset"]) == (job["id"], 2, 1, len(so_far.encode())), p
        so_far += p["text"]
    read = slow.call("GET", f"/v1/jobs/{job['id']}/pages/2.md")[2].decode()
    assert len(pieces) > 3 and so_far.strip() == read.strip(), (len(pieces), so_far, read)


def test_long_poll():
    _, _, job = post(form(("file", "h.pdf", pdf(2))), slow)
    seq, seen = job["seq"], 0
    while True:
        start = time.time()
        v = slow.json("GET", f"/v1/jobs/{job['id']}?wait_s=20&after={seq}")[1]
        assert v["seq"] > seq and time.time() - start < 19
        seq, seen = v["seq"], seen + 1
        if v["state"] == "done":
            break
    assert seen >= 2
    start = time.time()
    assert slow.json("GET", f"/v1/jobs/{job['id']}?wait_s=1&after={seq}")[1]["seq"] == seq and 0.5 < time.time() - start < 4


def test_long_poll_is_left():
    """Who leaves while waiting keeps no connection, of which an address has only so many."""
    _, _, job = post(form(("file", "l.png", png(seed=21))))
    ended(job["id"])
    assert wait_for(lambda: server.metric("recto_connections") == 1)
    waiting = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
    for c in waiting:
        c.sendall(f"GET /v1/jobs/{job['id']}?wait_s=60&after=1000000 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert wait_for(lambda: server.metric("recto_http_in_flight") == 6)
    for c in waiting:
        c.close()
    assert wait_for(lambda: server.metric("recto_connections") == 1, 5)


def test_position():
    """A job that waits is told how many pages are handed out before its first; one that runs, or has ended, is not."""
    ids = [post(form(("file", f"p{i}.pdf", pdf(8))), slow)[2]["id"] for i in range(3)]
    position = lambda job: slow.json("GET", "/v1/jobs/" + job)[1]["position"]
    assert wait_for(lambda: (position(ids[2]) or 0) > 0), slow.json("GET", "/v1/jobs/" + ids[2])
    assert position(ids[0]) is None
    for job in ids:
        slow.call("POST", f"/v1/jobs/{job}/cancel")
        assert wait_for(lambda: slow.json("GET", "/v1/jobs/" + job)[1]["state"] == "cancelled") and position(job) is None


def test_cancel_delete_rename():
    _, _, job = post(form(("file", "i.pdf", pdf(12))), slow)
    path = "/v1/jobs/" + job["id"]
    assert slow.json("PATCH", path, {"name": "new name"})[1]["name"] == "new name"
    assert slow.json("GET", "/v1/jobs?q=new+name&limit=5")[1]["data"][0]["id"] == job["id"]
    assert slow.call("GET", path + "/result.md")[0] == 409
    assert slow.call("GET", path + "/result.md?partial=1")[0] == 200
    status, v = slow.json("POST", path + "/cancel")
    assert status == 202, v
    assert wait_for(lambda: slow.json("GET", path)[1]["state"] == "cancelled")
    assert slow.json("POST", path + "/cancel")[0] == 409
    assert slow.call("DELETE", path)[0] == 204
    assert slow.call("GET", path)[0] == 410 and slow.call("GET", path + "/pages")[0] in (404, 410)


def test_edits():
    _, _, job = post(form(("file", "j.png", png(seed=9))))
    ended(job["id"])
    path = f"/v1/jobs/{job['id']}/pages/1"
    etag = server.call("GET", path + ".md")[1]["ETag"]
    status, h, _ = server.call("PUT", path + "/text", "# Mine\n", {"If-Match": etag})
    assert status == 204 and h["ETag"] != etag
    assert server.call("GET", path + ".md")[2].startswith(b"# Mine")
    status, _, body = server.call("PUT", path + "/text", "# Late\n", {"If-Match": etag})
    assert status == 409 and json.loads(body)["error"]["code"] == "edit_conflict"
    assert b"page 1 of" in server.call("GET", path + ".md?version=model")[2]
    assert server.call("PUT", path + "/text", "", {"If-Match": h["ETag"]})[0] == 204
    assert b"page 1 of" in server.call("GET", path + ".md")[2]


def test_files_are_guarded():
    """S30: what is made of a stranger's document is never a page of ours."""
    _, _, job = post(form(("file", "k.png", png(seed=10))))
    ended(job["id"])
    path = f"/v1/jobs/{job['id']}/"
    _, h, _ = server.call("GET", path + "result.html")
    assert h["Content-Disposition"].startswith("attachment") and "sandbox" in h["Content-Security-Policy"]
    assert h["X-Content-Type-Options"] == "nosniff"
    status, h, data = server.call("GET", path + "pages/1/image?w=160")
    assert status == 200 and data[:2] == b"\xff\xd8" and h["Cache-Control"].startswith("private") and h["ETag"]
    assert server.call("GET", path + "pages/1/image?w=161")[0] == 400
    assert server.call("GET", path + "pages/1/overlay")[2][:2] == b"\xff\xd8"
    assert server.call("GET", path + "result.zip")[2][:2] == b"PK"
    assert server.call("GET", path + "result.exe")[0] == 400


def test_whose_jobs():
    """S4: another key's job does not exist, in no route and in no stream; an administrator sees all."""
    with tempfile.TemporaryDirectory() as d:
        keys = {}
        for name, role in (("alice", "user"), ("bob", "user"), ("root", "admin")):
            p = subprocess.run([RECTO, "key", "new", name, "--keys", d + "/keys", "--role", role], capture_output=True, text=True,
                               env={**os.environ, "RECTO_CONFIG": "/dev/null"})
            keys[name] = {"Authorization": "Bearer " + p.stdout.strip()}
        with Server("--keys", d + "/keys", "--rate", "0") as s:
            job = post(form(("file", "a.png", png())), s, headers=keys["alice"])[2]["id"]
            ended(job, s, keys["alice"])
            bob = lambda method, path, body=None: s.call(method, path, body, keys["bob"])[0]
            for method, path in (("GET", ""), ("GET", "/pages"), ("GET", "/pages/1.md"), ("GET", "/pages/1/image"), ("GET", "/pages/1/overlay"),
                                 ("GET", "/pages/1/crops/1.jpg"), ("GET", "/input/0"), ("GET", "/result.md"), ("GET", "/events"),
                                 ("DELETE", ""), ("POST", "/cancel"), ("PUT", "/pages/1/text")):
                assert bob(method, f"/v1/jobs/{job}{path}") == 404, (method, path)
            assert s.json("GET", "/v1/jobs", headers=keys["bob"])[1]["data"] == []
            assert len(s.json("GET", "/v1/jobs", headers=keys["root"])[1]["data"]) == 1
            theirs = post(form(("file", "b.png", png())), s, headers=keys["bob"])[2]["id"]
            got = read_events(s, "/v1/events?after=0", lambda kind, data: kind == "job" and data["state"] == "done", keys["bob"])
            assert {e[2].get("job", e[2].get("id")) for e in got} == {theirs}
            assert s.json("GET", "/v1/quota", headers=keys["alice"])[1]["pages_today"] == 1


def test_restart():
    """The data directory carries everything: same job, same text, a session too."""
    _, _, job = post(form(("file", "z.png", png(seed=12))))
    ended(job["id"])
    text = server.call("GET", f"/v1/jobs/{job['id']}/result.md")[2]
    assert server.stop() == 0, server.read_log()
    server.start()
    assert server.call("GET", f"/v1/jobs/{job['id']}/result.md")[2] == text
    assert RECTO and subprocess.run([RECTO, "store", "check", "--data", server.data], capture_output=True,
                                    env={**os.environ, "RECTO_CONFIG": "/dev/null"}).returncode != 0, "held by the server"


SLOW = [{"text": "word ", "repeat": "and {page} ", "times": 20, "token_ms": 10}]
with Server("--max-upload", "4MiB", "--rate", "0", "--drain-grace", "0") as server, \
        Server("--rate", "0", "--max-seqs", "2", script=SLOW) as slow:
    run([test_upload, test_raw_upload, test_several_files, test_refused_uploads, test_boundary_in_content, test_names_are_data,
         test_big_uploads, test_idempotency, test_events, test_events_from_now_on, test_events_while_reading, test_stats_in_the_stream, test_text_while_reading, test_long_poll, test_long_poll_is_left, test_position,
         test_cancel_delete_rename, test_edits, test_files_are_guarded, test_whose_jobs, test_restart])
