"""A server under constant moderate load, and what it holds on to. Not a test of `make test`.
    python3 tests/server/soak.py RECTO SOURCE [MINUTES, default 30] [SECONDS between two rounds, default 0.5]
A round is a document as a job (in turn a picture, a PDF of three pages, a PDF that is cancelled, a page that is read again), whose
text is compared with what the script says and which is deleted later, and a chat call, also compared. Five clients follow the
event stream and leave now and then. Once a minute: resident memory, descriptors, threads, size of the store.
Exit 1: a wrong result, or after the first third memory that grows by more than 8 MiB an hour, or more descriptors than then."""
import http.client
import json
import os
import sys
import threading
import time

from serve import Server, chat_body, image_part, pdf, png, wait_for

MINUTES = float(sys.argv[3]) if len(sys.argv) > 3 else 30
PAUSE = float(sys.argv[4]) if len(sys.argv) > 4 else 0.5
SETTLE_MIN, SLOPE_MAX, KEPT = MINUTES / 3, 8, 20
WORDS = "some words that were read from it and are not the same as any others here, so that nobody takes them for a loop"
SCRIPT = [{"document": "odd.png", "attempt": 1, "text": "it goes ", "repeat": "round and ", "times": 150},
          {"text": "page {page} of {document}: " + WORDS, "token_ms": 1}]


def text_of(page, name):
    return f"page {page} of {name}: {WORDS}"


class Soak:
    def __init__(self, s):
        self.s, self.kept, self.is_over = s, [], False
        self.n = dict.fromkeys(("jobs", "pages", "chats", "cancelled", "deleted", "events", "wrong"), 0)

    def wrong(self, what, *more):
        self.n["wrong"] += 1
        print("WRONG:", what, *more, flush=True)

    def listen(self, k):
        """A client of the event stream that leaves after a while and comes back where it was."""
        last = None
        while not self.is_over:
            c = http.client.HTTPConnection("127.0.0.1", self.s.port, timeout=40)
            try:
                c.request("GET", "/v1/events?stats=1" if k % 2 else "/v1/events", headers={"Last-Event-ID": str(last)} if last else {})
                r, end = c.getresponse(), time.time() + 20 + 7 * k
                for line in iter(r.readline, b""):
                    if line.startswith(b"id: "):
                        number = int(line[4:])
                        if last is not None and number not in (last, last + 1):
                            self.wrong(f"event {number} behind {last}")
                        last = number
                        self.n["events"] += 1
                    if self.is_over or time.time() > end:
                        break
            except OSError as e:
                self.wrong("a stream broke", e)
            finally:
                c.close()

    def post(self, name, data, kind, query=""):
        status, _, body = self.s.call("POST", f"/v1/jobs?name={name}{query}", data, {"Content-Type": kind})
        job = json.loads(body)
        if status != 202:
            self.wrong("upload", status, body)
        return job["id"]

    def ended(self, job):
        path = f"/v1/jobs/{job}"
        if not wait_for(lambda: self.s.json("GET", path)[1]["ended_ms"], 60):
            self.wrong("a job does not end", self.s.json("GET", path))
        return self.s.json("GET", path)[1]

    def compare(self, job, name, pages):
        text = self.s.call("GET", f"/v1/jobs/{job}/result.txt")[2].decode()
        for page in range(1, pages + 1):
            if " ".join(text_of(page, name).split()) not in " ".join(text.split()):
                return self.wrong(f"{name} page {page}", text[:300])
        self.n["pages"] += pages

    def a_job(self, i):
        if i % 4 == 0:
            job, name, pages = self.post("a.png", png(seed=i), "image/png"), "a.png", 1
        elif i % 4 == 1:
            job, name, pages = self.post("three.pdf", pdf(3), "application/pdf"), "three.pdf", 3
        elif i % 4 == 2:
            job, name, pages = self.post("long.pdf", pdf(40), "application/pdf"), "long.pdf", 0
            time.sleep(0.5)
            self.s.call("POST", f"/v1/jobs/{job}/cancel")
        else:
            job, name, pages = self.post("odd.png", png(seed=i), "image/png"), "odd.png", 1
        state = self.ended(job)["state"]
        self.n["jobs"] += 1
        if pages == 0:
            self.n["cancelled"] += state == "cancelled"
        else:
            self.s.call("GET", f"/v1/jobs/{job}/pages/1/image?w=160")
            self.s.call("GET", f"/v1/jobs/{job}/result.zip")
            self.compare(job, name, pages)
        self.kept.append(job)
        if len(self.kept) > KEPT:
            self.n["deleted"] += self.s.call("DELETE", "/v1/jobs/" + self.kept.pop(0))[0] == 204

    def a_chat(self):
        status, v = self.s.json("POST", "/v1/chat/completions", chat_body(image_part()))
        if status != 200 or not v["choices"][0]["message"]["content"].startswith("page 1 of"):
            return self.wrong("chat", status, v)
        self.n["chats"] += 1

    def sample(self):
        with open(f"/proc/{self.s.process.pid}/status") as f:
            status = dict(line.rstrip("\n").split(":\t") for line in f if ":\t" in line)
        with open(f"/proc/{self.s.process.pid}/stat") as f:
            ticks = f.read().rsplit(")", 1)[1].split()[11:15]  # of itself, and of helpers that have ended
        size = lambda name: os.path.getsize(os.path.join(self.s.data, name)) / 2**20 if os.path.exists(os.path.join(self.s.data, name)) else 0
        return {"rss": int(status["VmRSS"].split()[0]) / 1024, "threads": int(status["Threads"]),
                "fds": len(os.listdir(f"/proc/{self.s.process.pid}/fd")), "db": size("recto.db"), "wal": size("recto.db-wal"),
                "cpu": sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")}


def slope(points):
    """Least squares, per hour of minutes."""
    n = len(points)
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    return 60 * sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x, _ in points)


def main():
    with Server("--rate", "0", script=SCRIPT) as s:
        k = Soak(s)
        listeners = [threading.Thread(target=k.listen, args=(i,)) for i in range(5)]
        for t in listeners:
            t.start()
        start, minute, i, points = time.time(), 0, 0, []
        print("| min | RSS, MiB | descriptors | threads | CPU, % of a core | database + WAL, MiB | jobs | pages | chats | events |\n"
              "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
        while minute <= MINUTES:
            if time.time() - start >= minute * 60:
                a = k.sample()
                points.append((minute, a))
                cpu = 100 * (a["cpu"] - points[-2][1]["cpu"]) / 60 if minute else 0
                print(f"| {minute} | {a['rss']:.1f} | {a['fds']} | {a['threads']} | {cpu:.0f} | {a['db'] + a['wal']:.1f} | {k.n['jobs']} | {k.n['pages']} | "
                      f"{k.n['chats']} | {k.n['events']} |", flush=True)
                minute += 1
            k.a_job(i)
            k.a_chat()
            i += 1
            time.sleep(PAUSE)
        k.is_over = True
        for t in listeners:
            t.join()
        late = [(m, a["rss"]) for m, a in points if m >= SETTLE_MIN]
        settled = max(a["fds"] for m, a in points if m <= SETTLE_MIN)
        grows, fds = slope(late), [a["fds"] for _, a in points[1:]]
        print(f"\n{k.n}\nmemory after minute {SETTLE_MIN:g}: {grows:+.2f} MiB an hour; descriptors {min(fds)} to {max(fds)}; "
              f"ended with {s.stop()}", flush=True)
        assert k.n["wrong"] == 0 and grows < SLOPE_MAX and fds[-1] <= settled, "see above"


main()
