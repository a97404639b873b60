"""POST /v1/chat/completions over a scripted engine: parts, streaming, faults, leaving (spec of the route: docs/server.md)."""
import http.client
import json
import socket
import struct
import time

from serve import Server, chat_body, file_part, image_part, pdf, png, run, wait_for

SPLIT = "\n\n<--- Page Split --->\n\n"
PATH = "/v1/chat/completions"


def chat(*parts, headers=None, **more):
    return server.json("POST", PATH, chat_body(*parts, **more), headers)


def text_of(value):
    return value["choices"][0]["message"]["content"]


def events(*parts, **more):
    """The data lines of a stream; the last of them as it is when it is no JSON."""
    status, headers, data = server.call("POST", PATH, json.dumps(chat_body(*parts, stream=True, **more)),
                                        {"Content-Type": "application/json"})
    assert status == 200 and headers["Content-Type"] == "text/event-stream", (status, data)
    lines = [line[6:] for line in data.decode().split("\n\n") if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def streamed_text(list_of_events):
    return "".join(e["choices"][0]["delta"].get("content", "") for e in list_of_events
                   if e != "[DONE]" and e["choices"])


def test_one_picture():
    status, v = chat(image_part())
    assert status == 200 and text_of(v) == "page 1 of image 1", v
    assert v["object"] == "chat.completion" and v["choices"][0]["finish_reason"] == "stop"
    u = v["usage"]
    assert u["total_tokens"] == u["prompt_tokens"] + u["completion_tokens"] > 0
    assert u["prompt_tokens_details"]["image_tokens"] > 0
    assert v["recto"]["pages"][0]["status"] == "ok"


def test_order_of_pages():
    """A PDF of three pages between two pictures: read at once, answered in order."""
    status, v = chat(image_part(), file_part(pdf(3), "b.pdf"), image_part())
    want = ["page 1 of image 1", "page 1 of b.pdf", "page 2 of b.pdf", "page 3 of b.pdf", "page 1 of image 3"]
    assert status == 200 and text_of(v) == SPLIT.join(want), v
    assert [p["page"] for p in v["recto"]["pages"]] == [1, 1, 2, 3, 1]
    assert streamed_text(events(image_part(), file_part(pdf(3), "b.pdf"), image_part())) == SPLIT.join(want)


def test_stream():
    got = events(image_part(), stream_options={"include_usage": True})
    assert got[0]["choices"][0]["delta"]["role"] == "assistant"
    assert got[-1] == "[DONE]"
    assert got[-2]["choices"] == [] and got[-2]["usage"]["completion_tokens"] > 0
    assert got[-3]["choices"][0]["finish_reason"] == "stop" and len({e["id"] for e in got[:-1]}) == 1
    assert streamed_text(got) == "page 1 of image 1"


def test_outputs():
    marked = "<|ref|>title<|/ref|><|det|>[[10, 20, 300, 60]]<|/det|>\n# Title\n<|ref|>text<|/ref|><|det|>[[10, 80, 900, 200]]<|/det|>\nBody"
    with Server(script=[{"text": marked}]) as s:
        ask = lambda **recto: s.json("POST", PATH, chat_body(image_part(), recto=recto))[1]
        assert "<|ref|>" not in text_of(ask()) and "# Title" in text_of(ask())
        assert text_of(ask(output="raw")) == marked
        layout = ask(output="layout")["recto"]["layout"][0]
        assert [b["label"] for b in layout["blocks"]] == ["title", "text"], layout
        body = json.dumps(chat_body(image_part(), stream=True))
        data = s.call("POST", PATH, body, {"Content-Type": "application/json"})[2].decode()
        assert "<|ref|>" not in data and "# Title" in streamed_text(
            [json.loads(x[6:]) for x in data.split("\n\n") if x.startswith("data: {")])


def test_limits_of_length():
    status, v = chat(image_part(), max_tokens=3)
    assert status == 200 and v["choices"][0]["finish_reason"] == "length" and v["usage"]["completion_tokens"] == 3
    status, v = chat(image_part(), stop=" of")
    assert text_of(v) == "page 1" and v["choices"][0]["finish_reason"] == "stop"
    assert streamed_text(events(image_part(), stop=["xyz", "of im"])) == "page 1 "


def test_refusals():
    big = {"type": "text", "text": "x" * 9000}
    cases = [
        (dict(parts=[]), 400, "invalid_value"),
        (dict(parts=[{"type": "text", "text": "hello"}]), 400, "invalid_value"),
        (dict(parts=[image_part(), big]), 400, "context_length_exceeded"),
        (dict(parts=[image_part(b"not a picture")]), 415, "unsupported_media_type"),
        (dict(parts=[file_part(png())]), 415, "unsupported_media_type"),
        (dict(parts=[image_part()], model="gpt-4o"), 404, "model_not_found"),
        (dict(parts=[image_part()], n=2), 400, "unsupported_parameter"),
        (dict(parts=[image_part()], tools=[{}]), 400, "unsupported_parameter"),
        (dict(parts=[image_part()], logprobs=True), 400, "unsupported_parameter"),
        (dict(parts=[image_part()], response_format={"type": "json_object"}), 400, "unsupported_parameter"),
        (dict(parts=[image_part()], temprature=1), 400, "unknown_option"),
        (dict(parts=[image_part()], recto={"outputs": "raw"}), 400, "unknown_option"),
        (dict(parts=[image_part()], temperature=3), 400, "invalid_value"),
        (dict(parts=[image_part()], recto={"pages": "x"}), 400, "invalid_value"),
        (dict(parts=[file_part(pdf(2))], recto={"pages": "7"}), 422, "page_out_of_range"),
        (dict(parts=[file_part(pdf(33))]), 400, "too_many_pages"),
        (dict(parts=[file_part(pdf(17)), file_part(pdf(16))]), 400, "too_many_pages"),
        (dict(parts=[file_part(b"%PDF-1.4\nnothing")]), 422, "document_unreadable"),
        (dict(parts=[{"type": "input_audio", "input_audio": {}}]), 400, "invalid_value"),
        (dict(parts=[{"type": "file", "file": {"file_id": "file_1"}}]), 404, "not_found"),
    ]
    for ask, status, code in cases:
        got, v = chat(*ask.pop("parts"), **ask)
        assert got == status and v["error"]["code"] == code, (ask, got, v)
        assert v["error"]["request_id"].startswith("req_") and v["error"]["message"]


def test_addresses_are_not_fetched():
    """S25: neither http(s) nor file nor anything else; data: only in base64."""
    for url in ("http://127.0.0.1/x.png", "https://example.org/x.png", "file:///etc/passwd", "ftp://x/y", "//x/y", "\u00010"):
        got, v = chat({"type": "image_url", "image_url": {"url": url}})
        assert got == 403 and v["error"]["code"] == "url_fetch_disabled", (url, got, v)
    got, v = chat({"type": "image_url", "image_url": {"url": "data:image/png,abc"}})
    assert got == 400


def test_json():
    """S13"""
    deep = b'{"model":"deepseek-ocr-2","messages":' + b"[" * 40 + b"]" * 40 + b"}"
    for text in (b"", b"{", b"[]", b'{"model":1,"model":1}', b'{"model":"\xff"}', deep, b'{"a":"\\ud800"}'):
        status, _, body = server.call("POST", PATH, text, {"Content-Type": "application/json"})
        assert status == 400 and json.loads(body)["error"]["code"] == "invalid_json", (text, status, body)
    bad = json.dumps(chat_body({"type": "image_url", "image_url": {"url": "data:image/png;base64,@@@@"}}))
    status, _, body = server.call("POST", PATH, bad, {"Content-Type": "application/json"})
    assert status == 400 and json.loads(body)["error"]["code"] == "invalid_value"
    assert server.call("POST", PATH, b"x", {"Content-Type": "text/plain"})[0] == 415


def test_pictures_go_to_files():
    """S13: 20 MB of base64 cost no memory that stays, and little while it arrives."""
    noise = png(width=3000, height=2000) + b"\0" * (15 << 20)
    before = server.rss()
    status, v = chat(image_part(noise))
    assert status == 200, v
    assert server.rss() - before < 60 << 20, (before, server.rss())  # the raster itself is 18 MB


def test_warnings():
    body = chat_body(image_part(), user="me", frequency_penalty=0, detail="x")
    del body["detail"]
    body["messages"].insert(0, {"role": "system", "content": "You are a poet."})
    status, v = server.json("POST", PATH, body)
    assert status == 200 and "ignored" in v["recto"]["warnings"][0]
    assert text_of(v) == "page 1 of image 1"


def engine_is_idle(s):
    return s.metric("recto_engine_requests") == 0 and s.metric("recto_kv_used_ratio") == 0


def test_leaving_cancels():
    """A client that closes, resets or half-closes its connection frees what it held within a second."""
    script = [{"text": "word ", "repeat": "and one more number {page} ", "token_ms": 20, "end": "on"}]
    with Server("--max-seqs", "2", script=script) as s:
        for how in ("close", "reset", "half"):
            for stream in (True, False):
                body = json.dumps(chat_body(image_part(), stream=stream)).encode()
                c = socket.create_connection(("127.0.0.1", s.port))
                c.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                          % (PATH.encode(), len(body), body))
                assert wait_for(lambda: s.metric("recto_engine_requests") > 0), "it is being read"
                if how == "reset":
                    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if how == "half":
                    c.shutdown(socket.SHUT_WR)
                else:
                    c.close()
                start = time.time()
                assert wait_for(lambda: engine_is_idle(s), 5), (how, stream)
                assert time.time() - start < 2, (how, stream, time.time() - start)
                c.close()
        assert s.metric("recto_cancelled_total") == 6
        assert wait_for(lambda: s.metric("recto_http_in_flight") == 1)  # the one that asks


def test_deadline():
    script = [{"text": "word ", "repeat": "and more {page} ", "token_ms": 50, "end": "on"}]
    with Server(script=script) as s:
        start = time.time()
        status, v = s.json("POST", PATH, chat_body(image_part()), {"X-Recto-Timeout-Ms": "700"})
        assert status == 504 and v["error"]["code"] == "deadline_exceeded", v
        assert time.time() - start < 3


def test_faults_in_streams():
    """Before the first byte a fault is a status; after it an event, and no [DONE]."""
    with Server(script=[{"page": 1, "text": "fine and well"}, {"page": 2, "end": "fail", "text": "half of it "}]) as s:
        ask = lambda *parts: s.call("POST", PATH, json.dumps(chat_body(*parts, stream=True)), {"Content-Type": "application/json"})
        status, _, data = ask(image_part(b"junk"))
        assert status == 415
        status, _, data = ask(file_part(b"%PDF-1.4\nnothing"))
        assert status == 422, data


def test_keep_alive_and_many():
    """Sixteen calls over four connections: every answer belongs to its question."""
    import threading
    wrong = []

    def client(k):
        c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for i in range(4):
            body = chat_body(file_part(pdf(1), f"d{k}-{i}.pdf"))
            c.request("POST", PATH, json.dumps(body), {"Content-Type": "application/json"})
            v = json.loads(c.getresponse().read())
            if text_of(v) != f"page 1 of d{k}-{i}.pdf":
                wrong.append(v)
        c.close()

    threads = [threading.Thread(target=client, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong[:2]


with Server("--rate", "0") as server:
    run([test_one_picture, test_order_of_pages, test_stream, test_outputs, test_limits_of_length, test_refusals,
         test_addresses_are_not_fetched, test_json, test_pictures_go_to_files, test_warnings, test_leaving_cancels,
         test_deadline, test_faults_in_streams, test_keep_alive_and_many])
    assert engine_is_idle(server)
    assert server.stop() == 0, server.read_log()
