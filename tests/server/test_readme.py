"""The commands of the README's section on serving, run as they stand there, against the mini model."""
import os
import re
import shutil
import subprocess
import tempfile
import zipfile

from serve import SOURCE, Server

readme = open(SOURCE + "/README.md").read()
script = re.search(r"<!-- run by tests/server/test_readme.py -->\n```sh\n(.*?)```", readme, re.S).group(1)
with tempfile.TemporaryDirectory() as d, Server(script=None) as s:
    shutil.copy(SOURCE + "/models/mini/pages/page04.png", d + "/page.png")
    p = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", script.replace("127.0.0.1:8080", f"127.0.0.1:{s.port}")], cwd=d,
                       capture_output=True, text=True, timeout=120)
    assert p.returncode == 0, (p.returncode, p.stdout, p.stderr)
    assert '"finish_reason":"stop"' in p.stdout and "Decrepitate" in p.stdout, p.stdout
    assert '"object":"job"' in p.stdout and "event: page" in p.stdout
    assert "Decrepitate" in open(d + "/page.md").read()
    names = zipfile.ZipFile(d + "/page.zip").namelist()
    assert "document.md" in names and "manifest.json" in names, names
