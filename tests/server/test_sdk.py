"""OpenAI's npm client against the server (tests/server/sdk): starts servers, runs the script, looks whether all is let go."""
import base64
import os
import shutil
import subprocess
import sys
import tempfile

from serve import RECTO, SOURCE, Server, pdf, png, wait_for

if not shutil.which("node") or not shutil.which("npm"):
    print("skipped: node and npm are not installed")
    sys.exit(77)
packages = subprocess.run([SOURCE + "/scripts/web", "packages", SOURCE + "/tests/server/sdk"], capture_output=True, text=True)
assert packages.returncode == 0, packages.stderr
with tempfile.TemporaryDirectory() as d:
    env = {**os.environ, "RECTO_CONFIG": "/dev/null"}
    key = subprocess.run([RECTO, "key", "new", "sdk", "--keys", d + "/keys", "--role", "admin"], capture_output=True, text=True, env=env)
    assert key.returncode == 0, key.stderr
    key = key.stdout.strip()
    endless = [{"text": "word ", "repeat": "and {page} ", "token_ms": 10, "end": "on"}]
    with Server("--keys", d + "/keys", "--rate", "0") as s, \
            Server("--keys", d + "/keys", "--rate", "5", "--burst", "2", script=endless) as slow:
        p = subprocess.run(["node", "--test", SOURCE + "/tests/server/sdk/sdk.test.mjs"], timeout=120, env={
            **env, "MODULES": packages.stdout.strip(), "KEY": key, "BASE": f"http://127.0.0.1:{s.port}/v1",
            "SLOW_BASE": f"http://127.0.0.1:{slow.port}/v1", "PNG": base64.b64encode(png()).decode(),
            "PDF": base64.b64encode(pdf(2)).decode()})
        assert p.returncode == 0
        idle = lambda: b'recto_engine_requests{state="running"} 0' in slow.call(
            "GET", "/metrics", headers={"Authorization": "Bearer " + key})[2]
        assert wait_for(idle, 10), "what was aborted is still being read"
