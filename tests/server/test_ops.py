"""Operation: signals and draining, probes, figures, the API's description, configuration (docs/server.md)."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from serve import RECTO, SOURCE, Server, chat_body, image_part, pdf, png, run, wait_for

ENV = {**os.environ, "RECTO_CONFIG": "/dev/null"}
SLOW = [{"text": "word ", "repeat": "and {page} ", "times": 15, "token_ms": 10}]
SLOWER = [{**SLOW[0], "token_ms": 25}]  # a page takes over two seconds, however fast the machine is
CHAT = "/v1/chat/completions"


def test_description():
    """Every path of /openapi.json is answered, and every route of the table is described."""
    with Server() as s:
        v = s.json("GET", "/openapi.json")[1]
        assert v["openapi"].startswith("3.1")
        ids = [op["operationId"] for path in v["paths"].values() for op in path.values()]
        assert len(ids) == len(set(ids)) > 25
        table = re.findall(r'\{"(GET|POST|PUT|PATCH|DELETE)", "(/[^"]*)"', open(SOURCE + "/server/route.c").read())
        assert {(m.lower(), p) for m, p in table} == {(m, p) for p, ops in v["paths"].items() for m in ops}
        for path, ops in v["paths"].items():
            for method in ops:
                real = path.replace("{format}", "md").replace("{page}", "1").replace("{k}", "1")
                real = re.sub(r"\{\w+\}", "x", real)
                if path.endswith("/events"):
                    continue
                status, _, body = s.call(method.upper(), real, b"" if method == "get" else b"{}", {"Content-Type": "application/json"} if method != "get" else {})
                assert status not in (405, 500), (method, real, status, body)
        schema = s.json("GET", "/v1/schema/layout.json")[1]
        assert schema == json.load(open(SOURCE + "/docs/recto-layout-1.schema.json"))


def test_figures():
    with Server() as s:
        assert s.json("POST", CHAT, chat_body(image_part()))[0] == 200
        text = s.call("GET", "/metrics")[2].decode()
        assert len(text.splitlines()) < 1200 and text.count("\nrecto_") < 600
        for line in text.splitlines():
            assert re.fullmatch(r"# (HELP|TYPE) recto_[a-z_]+ .+|recto_[a-z_]+(\{[^}]*\})? [-+0-9.e]+(Inf)?", line), line
        assert s.metric("recto_pages_total") == 1 and s.metric("recto_ready") == 1
        assert 'recto_http_requests_total{route="/v1/chat/completions",method="POST",code="200"} 1' in text
        assert wait_for(lambda: s.json("GET", "/v1/stats?history=1")[1]["history"], 5)  # a sample a second
        stats = s.json("GET", "/v1/stats")[1]
        assert stats["devices"][0]["power_w"] is None and stats["host"]["disk_free_bytes"] > 0
        assert 'recto_page_seconds_count{source="chat"} 1' in text and 'recto_page_seconds_count{source="job"} 0' in text


def test_figures_of_jobs_and_devices():
    """Pages of jobs are in the histograms too; each model's device is shown."""
    with Server("--parallel", "replicas=2") as s:
        job = json.loads(s.call("POST", "/v1/jobs?name=a.png", png(), {"Content-Type": "image/png"})[2])["id"]
        assert wait_for(lambda: s.json("GET", "/v1/jobs/" + job)[1]["state"] == "done")
        text = s.call("GET", "/metrics")[2].decode()
        for name in ('page_seconds_count{source="job"}', 'stage_seconds_count{source="job",stage="decode"}',
                     'pages_total{status="ok",source="job"}', 'job_pages_total{status="ok"}'):
            assert f"recto_{name} 1\n" in text, name
        assert s.metric("recto_output_tokens_total") > 0
        assert [d["index"] for d in s.json("GET", "/v1/stats")[1]["devices"]] == [0, 1]


def test_drain():
    """SIGTERM: not ready at once, everything goes on for the grace; then new work is refused and what runs ends."""
    with Server("--drain-grace", "5", "--drain-timeout", "20", script=SLOWER) as s:
        done = {}

        def ask(name):
            done[name] = s.json("POST", CHAT, chat_body(image_part()))[0]

        stream = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
        stream.request("GET", "/v1/events")
        events = stream.getresponse()
        first = threading.Thread(target=ask, args=("before",))
        first.start()
        time.sleep(0.3)
        s.process.send_signal(signal.SIGTERM)
        told = time.time()
        assert wait_for(lambda: s.call("GET", "/readyz")[0] == 503, 1)
        assert s.json("GET", "/readyz")[1]["reasons"] == ["draining"] and s.call("GET", "/healthz")[0] == 200
        ask("in the grace")
        job = json.loads(s.call("POST", "/v1/jobs?name=a.pdf", pdf(14))[2])["id"]
        time.sleep(max(0, told + 5.4 - time.time()))
        status, v = s.json("POST", CHAT, chat_body(image_part()))
        assert status == 503 and v["error"]["code"] == "draining", (status, v)
        rest = events.read().decode()
        assert "event: bye" in rest and "retry:" in rest
        first.join()
        assert s.process.wait(30) == 0, s.read_log()
        assert done == {"before": 200, "in the grace": 200}
        s.start()
        assert wait_for(lambda: s.json("GET", f"/v1/jobs/{job}")[1]["state"] == "done", 60)
        rows = s.json("GET", f"/v1/jobs/{job}/pages")[1]["data"]
        assert [r["status"] for r in rows] == ["ok"] * 14


def test_second_signal():
    with Server("--drain-grace", "20", script=SLOW) as s:
        s.process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        start = time.time()
        s.process.send_signal(signal.SIGINT)
        assert s.process.wait(5) == 1 and time.time() - start < 1.5


def test_service_manager():
    """NOTIFY_SOCKET hears READY and STOPPING; SIGUSR1 logs figures."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as n:
        path = f"/tmp/recto-notify-{os.getpid()}"
        n.bind(path)
        n.settimeout(20)
        try:
            with Server("--drain-grace", "0", env={"NOTIFY_SOCKET": path}) as s:
                heard = {n.recv(100) for _ in range(3)}
                assert b"READY=1" in heard and b"WATCHDOG=1" in heard, heard
                s.process.send_signal(signal.SIGUSR1)
                assert wait_for(lambda: "figures queue=" in s.read_log(), 5)
                s.process.send_signal(signal.SIGTERM)
                while n.recv(100) != b"STOPPING=1":
                    pass
                assert s.process.wait(20) == 0
        finally:
            os.unlink(path)


def test_unix_socket_and_base_path():
    with Server("--base-path", "/ocr/") as s:
        assert s.call("GET", "/ocr/v1/models")[0] == 200 and s.call("GET", "/ocr/")[0] == 200
        path = s.dir.name + "/sock"
        with Server("--drain-grace", "0", "--listen", "unix:" + path, data=s.dir.name + "/other") as u:
            assert os.stat(path).st_mode & 0o777 == 0o660
            c = socket.socket(socket.AF_UNIX)
            c.connect(path)
            c.sendall(b"GET /v1/models HTTP/1.1\r\nHost: anything.example\r\n\r\n")
            assert c.recv(100).startswith(b"HTTP/1.1 200")
            c.close()
            assert u.stop() == 0


def test_one_server_a_directory():
    with Server() as s:
        p = subprocess.run([RECTO, "serve", "--listen", "127.0.0.1:0", "--data", s.data], capture_output=True, text=True, env=ENV, timeout=60)
        assert p.returncode != 0 and str(s.process.pid) in p.stderr, p.stderr


def test_configuration():
    """--print-config tells where each value came from; lists, sizes and times from all three places; --check."""
    ini = f"/tmp/recto-test-{os.getpid()}.ini"
    with open(ini, "w") as f:
        f.write("[serve]\nhost-name = a.example\nhost-name = b.example\nmax-upload = 1GiB\nretain = 2d\n")
    try:
        env = {**os.environ, "RECTO_CONFIG": ini, "RECTO_MAX_JSON": "8 MiB", "RECTO_CORS_ORIGIN": "https://x,https://y"}
        p = subprocess.run([RECTO, "serve", "--print-config", "--burst", "7"], capture_output=True, text=True, env=env)
        for line in ("host-name = a.example    # host-name in " + ini, "host-name = b.example", "max-upload = 1GiB", "retain = 2d",
                     "max-json = 8 MiB    # RECTO_MAX_JSON", "cors-origin = https://y", "burst = 7    # --burst"):
            assert line in p.stdout, (line, p.stdout, p.stderr)
        for wrong in (["--max-upload", "1 furlong"], ["--retain", "soon"], ["--max-json", "-1"], ["--listen", "nonsense"], ["x"]):
            p = subprocess.run([RECTO, "serve", "--data", ini + ".d", *wrong], capture_output=True, text=True, env=ENV, timeout=60)
            assert p.returncode == 2 and p.stderr.startswith("recto: "), (wrong, p.returncode, p.stderr)
    finally:
        os.unlink(ini)
    with Server() as s:
        data = s.dir.name + "/checked"
        p = subprocess.run([RECTO, "serve", "--check", "--data", data], capture_output=True, text=True, env=ENV, timeout=120)
        assert p.returncode == 0, p.stderr
        p = subprocess.run([RECTO, "serve", "--check", "--data", data, "--model", "/nonexistent"], capture_output=True, text=True, env=ENV, timeout=120)
        assert p.returncode == 1, p.stderr
        p = subprocess.run([RECTO, "store", "check", "--data", data], capture_output=True, text=True, env=ENV, timeout=120)
        assert p.returncode == 0, p.stderr


def test_connections_of_one_address():
    with Server("--max-conns-ip", "5") as s:
        time.sleep(0.5)  # the connection that asked for readiness is gone
        held = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(5)]
        time.sleep(0.3)
        c = socket.create_connection(("127.0.0.1", s.port), timeout=2)
        c.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            assert c.recv(100) == b""
        except ConnectionResetError:
            pass
        for h in held:
            h.close()
        assert wait_for(lambda: status_of(s) == 200, 3)


def status_of(s):
    try:
        return s.call("GET", "/healthz")[0]
    except OSError:
        return None


run([test_description, test_figures, test_figures_of_jobs_and_devices, test_drain, test_second_signal, test_service_manager, test_unix_socket_and_base_path,
     test_one_server_a_directory, test_configuration, test_connections_of_one_address])
