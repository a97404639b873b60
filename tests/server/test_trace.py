"""The server writes below its data directory and nowhere else (S34; docs/security.md): strace sees every path that the server and
its helpers open for writing, make, rename or remove while all kinds of work are done."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from serve import Server, chat_body, file_part, image_part, pdf, png, run, wait_for

CALLS = "openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,symlink,symlinkat,truncate,mknod,mknodat,chmod,fchmodat"
ALLOWED = re.compile(r"/dev/(null|tty)$|/proc/self/(task/\d+/)?comm$")


class Traced(Server):
    """Under strace, which writes what it sees to `trace`."""

    def start(self, ready=True):
        self.trace = os.path.join(self.dir.name, "trace")
        real = subprocess.Popen

        def popen(args, **more):
            return real(["strace", "-f", "-y", "-qq", "-s", "4096", "-e", "trace=" + CALLS, "-o", self.trace, *args], **more)

        subprocess.Popen = popen
        try:
            super().start(ready)
        finally:
            subprocess.Popen = real


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(p) for p in f.read().split()]


def written(trace):
    """(absolute path, line) of calls that succeeded and write."""
    text = r'"((?:[^"\\]|\\.)*)"'
    with open(trace, errors="replace") as f:
        for line in f:
            call = re.search(r"(\w+)\((.*)\) += (-?\d+)", line)
            if not call or int(call[3]) < 0:
                continue
            name, args = call[1], call[2]
            if name in ("open", "openat") and not re.search(r"O_(WRONLY|RDWR|CREAT|TMPFILE|TRUNC)", args):
                continue
            below = re.findall(r"(?:AT_FDCWD|\d+)<([^>]*)>, " + text, args)
            for where, path in below or [(os.getcwd(), p) for p in re.findall(text, args)]:
                yield os.path.normpath(os.path.join(where, path)), line


def work(s):
    done = lambda job: wait_for(lambda: s.json("GET", "/v1/jobs/" + job)[1]["state"] in ("done", "cancelled"), 60)
    assert s.json("POST", "/v1/chat/completions", chat_body(image_part()))[0] == 200
    assert s.json("POST", "/v1/chat/completions", chat_body(file_part(pdf(2))))[0] == 200
    for name, data, kind in (("a.pdf", pdf(3), "application/pdf"), ("../../../b.png", png(), "image/png")):
        job = json.loads(s.call("POST", "/v1/jobs?name=" + name, data, {"Content-Type": kind})[2])["id"]
        assert done(job)
        path = f"/v1/jobs/{job}"
        for what in ("result.md", "result.html", "result.zip", "result.json", "result.pdf", "pages/1/image?w=160", "pages/1/overlay", "pages/1.md"):
            assert s.call("GET", f"{path}/{what}")[0] == 200, what
        assert s.call("PUT", path + "/pages/1/text", "mine")[0] == 204
        assert s.json("POST", path + "/retry", {"pages": "1"})[0] == 202 and done(job)
    assert s.call("DELETE", path)[0] == 204
    assert s.call("GET", "/metrics")[0] == 200


def test_nothing_is_written_elsewhere():
    with Traced() as s:
        work(s)
        server = children(s.process.pid)[0]
        os.kill(server, signal.SIGTERM)
        assert s.process.wait(60) == 0, s.read_log()
        data, paths = os.path.realpath(s.data), list(written(s.trace))
        assert len(paths) > 20, "strace has seen the server's own files"
        wrong = [line.strip()[:300] for path, line in paths if not ALLOWED.match(path) and path != data and not path.startswith(data + "/")]
        assert not wrong, "\n".join(wrong)


if not shutil.which("strace") or subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode != 0:
    print("no strace, or not allowed to trace: scripts/setup test installs it")
    sys.exit(77)
run([test_nothing_is_written_elsewhere])
