"""Keys, sessions, rates, proxies (S1, S3-S8, S32, S37; docs/security.md)."""
import json
import os
import re
import subprocess
import tempfile
import time

from serve import RECTO, Server, chat_body, image_part, run

ENV = {**os.environ, "RECTO_CONFIG": "/dev/null"}
scratch = tempfile.TemporaryDirectory(prefix="recto-test-")
KEYS = os.path.join(scratch.name, "keys")


def new_key(name, *options):
    p = subprocess.run([RECTO, "key", "new", name, "--keys", KEYS, *options], capture_output=True, text=True, env=ENV)
    assert p.returncode == 0, p.stderr
    return p.stdout.strip()


def serve_fails(*options):
    p = subprocess.run([RECTO, "serve", *options], capture_output=True, text=True, env=ENV, timeout=60)
    return p.returncode, p.stderr


def bearer(key):
    return {"Authorization": "Bearer " + key}


def test_open_listeners():
    """S1: without keys, other machines are let in only if --no-auth says so."""
    code, why = serve_fails("--listen", "0.0.0.0:0", "--data", scratch.name + "/d")
    assert code == 2 and "--no-auth" in why, (code, why)
    code, why = serve_fails("--listen", "[::]:0", "--data", scratch.name + "/d")
    assert code == 2 and "--no-auth" in why
    with Server("--listen", "0.0.0.0:0", "--no-auth") as s:
        assert s.call("GET", "/v1/models")[0] == 200


def test_key_file():
    """S3: random, stored as hashes, unreadable by others."""
    assert re.fullmatch(r"rk_[a-z2-7]{38}", alice) and alice != bob
    text = open(KEYS).read()
    assert alice not in text and bob not in text and len(re.findall(r" [0-9a-f]{64}", text)) == 3
    assert os.stat(KEYS).st_mode & 0o777 == 0o600
    p = subprocess.run([RECTO, "key", "new", "alice", "--keys", KEYS], capture_output=True, text=True, env=ENV)
    assert p.returncode == 2 and "already" in p.stderr
    loose = os.path.join(scratch.name, "loose")
    with open(loose, "w") as f:
        f.write(text)
    os.chmod(loose, 0o644)
    code, why = serve_fails("--keys", loose, "--data", scratch.name + "/d", "--listen", "127.0.0.1:0")
    assert code == 2 and "chmod 600" in why, (code, why)
    os.chmod(loose, 0o600)
    with open(loose, "a") as f:
        f.write("carol user tooshort\n")
    code, why = serve_fails("--keys", loose, "--data", scratch.name + "/d", "--listen", "127.0.0.1:0")
    assert code == 2 and "line 4" in why, (code, why)


def test_calls_need_a_key():
    assert server.call("GET", "/healthz")[0] == 200
    for headers in ({}, {"Authorization": "Basic abc"}, bearer("rk_" + "a" * 38)):
        status, h, body = server.call("GET", "/v1/models", headers=headers)
        assert status == 401 and h["WWW-Authenticate"] == "Bearer", (headers, status)
        assert json.loads(body)["error"]["code"] == "invalid_api_key"
    assert server.call("GET", "/v1/models", headers=bearer(alice))[0] == 200
    assert server.call("GET", "/metrics", headers=bearer(alice))[0] == 403
    assert server.call("GET", "/metrics", headers=bearer(root))[0] == 200
    assert "rk_" not in server.read_log()


def test_sessions():
    """S5, S6: a cookie for the page, that other sites cannot write with."""
    assert server.json("POST", "/v1/session", {"key": "rk_wrong"})[0] == 401
    status, h, _ = server.call("POST", "/v1/session", json.dumps({"key": alice}), {"Content-Type": "application/json"})
    assert status == 204
    cookie = h["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Max-Age=43200" in cookie and "Secure" not in cookie
    mine = {"Cookie": cookie.split(";")[0]}
    assert server.call("GET", "/v1/models", headers=mine)[0] == 200
    body = json.dumps(chat_body(image_part()))
    post = lambda **more: server.call("POST", "/v1/chat/completions", body, {"Content-Type": "application/json", **mine, **more})[0]
    assert post() == 403
    assert post(**{"Sec-Fetch-Site": "cross-site"}) == 403
    assert post(**{"Sec-Fetch-Site": "same-site"}) == 403
    assert post(Origin="https://evil.example") == 403
    assert post(**{"Sec-Fetch-Site": "same-origin"}) == 200
    assert post(Origin=f"http://127.0.0.1:{server.port}") == 200
    assert server.call("DELETE", "/v1/session", headers=mine)[0] == 204
    assert server.call("GET", "/v1/models", headers=mine)[0] == 401


def test_proxies():
    """S8: X-Forwarded-For counts only from trusted proxies, and -Proto makes cookies Secure."""
    for i in range(3):
        server.call("GET", "/v1/models", headers={"X-Forwarded-For": "192.0.2.9"})
    assert "from=192.0.2.9" not in server.read_log()
    with Server("--keys", KEYS, "--trusted-proxy", "127.0.0.0/8", "--log-level", "debug") as s:
        s.call("GET", "/v1/models", headers={"X-Forwarded-For": "198.51.100.7, 192.0.2.9"})
        _, h, _ = s.call("POST", "/v1/session", json.dumps({"key": alice}),
                         {"Content-Type": "application/json", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.9"})
        assert "Secure" in h["Set-Cookie"]
        assert "from=192.0.2.9" in s.read_log() and "from=198.51.100.7" not in s.read_log()


def test_wrong_keys():
    """S7: ten wrong keys within a minute shut an address out, wrong and right ones alike; others go on."""
    with Server("--keys", KEYS, "--trusted-proxy", "127.0.0.1") as s:
        there = lambda key: s.call("GET", "/v1/models", headers={**bearer(key), "X-Forwarded-For": "192.0.2.1"})
        for i in range(10):
            assert there("rk_" + "b" * 38)[0] == 401, i
        status, h, _ = there("rk_" + "b" * 38)
        assert status == 429 and int(h["Retry-After"]) == 60
        assert there(alice)[0] == 429
        assert s.call("GET", "/v1/models", headers={**bearer(alice), "X-Forwarded-For": "192.0.2.2"})[0] == 200


def test_rates():
    with Server("--keys", KEYS, "--rate", "5", "--burst", "3") as s:
        got = [s.call("GET", "/v1/models", headers=bearer(alice)) for _ in range(8)]
        refused = [h for status, h, _ in got if status == 429]
        assert got[0][0] == 200 and refused
        assert int(refused[0]["Retry-After"]) == 1 and 0 < int(refused[0]["retry-after-ms"]) <= 300
        assert refused[0]["x-ratelimit-limit-requests"] == "3"
        assert s.call("GET", "/v1/models", headers=bearer(bob))[0] == 200  # rate=100 of its own
        assert s.call("GET", "/healthz")[0] == 200
        time.sleep(0.3)
        assert s.call("GET", "/v1/models", headers=bearer(alice))[0] == 200


def test_reread():
    """SIGHUP: a key whose line is gone is gone; a broken file changes nothing."""
    import signal
    text = open(KEYS).read()
    with Server("--keys", KEYS) as s:
        with open(KEYS, "w") as f:
            f.write("broken\n")
        s.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert s.call("GET", "/v1/models", headers=bearer(bob))[0] == 200
        with open(KEYS, "w") as f:
            f.write("".join(line for line in text.splitlines(True) if not line.startswith("bob ")))
        s.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert s.call("GET", "/v1/models", headers=bearer(bob))[0] == 401
        assert s.call("GET", "/v1/models", headers=bearer(alice))[0] == 200
    with open(KEYS, "w") as f:
        f.write(text)


def test_audit():
    """S32, S37: a line a call that changes something; nothing in it can break the line or reach a terminal."""
    body = json.dumps(chat_body(image_part()))
    status, h, _ = server.call("POST", "/v1/chat/completions", body, {**bearer(alice), "Content-Type": "application/json"})
    assert status == 200
    time.sleep(0.2)
    log = server.read_log()
    assert f"call=POST /v1/chat/completions key=alice object=- status=200 id={h['X-Request-Id']}" in log, log
    assert "page 1 of" not in log
    server.call("DELETE", "/v1/jobs/a%0Ab%1B[31m", headers=bearer(alice))
    assert "\x1b" not in server.read_log()


def test_admin_listener():
    with Server("--admin", "127.0.0.1:0") as s:
        port = int(re.search(r"admin on http://127.0.0.1:(\d+)/", s.read_log()).group(1))
        assert s.call("GET", "/metrics")[0] == 404 and s.call("GET", "/healthz")[0] == 200
        s.port, main = port, s.port
        assert s.call("GET", "/metrics")[0] == 200 and s.call("GET", "/healthz")[0] == 200
        assert s.call("GET", "/v1/models")[0] == 404
        s.port = main


alice, bob, root = new_key("alice"), new_key("bob", "--rate", "100", "--pages-day", "1000"), new_key("root", "--role", "admin")
with Server("--keys", KEYS, "--log-level", "debug", "--rate", "0") as server:
    run([test_open_listeners, test_key_file, test_calls_need_a_key, test_sessions, test_proxies, test_wrong_keys, test_rates,
         test_reread, test_audit, test_admin_listener])
    assert server.stop() == 0
