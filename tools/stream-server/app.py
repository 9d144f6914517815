"""A small streaming completion server of vLLM's shape, for uvicorn: an ASGI application without a framework.

Serves POST /v1/chat/completions and /v1/completions (streaming with usage and [DONE], and unary), GET /v1/models
and /health. It generates nothing: it paces fixed text and logs when it did so, as a witness that is not ours to
set beside lowrho's records (see `compare`). It must not try to be fast or clever: it stands for what people run.

The log is JSON lines, one for each request that was answered: x_request_id, received_ns (the body is complete)
and events, each {what, planned_ns, before_ns, after_ns} around its send; nanoseconds of CLOCK_MONOTONIC. The
stamps are taken in Python, so they contain the event loop's own delay. `lowrho sim --log` writes the same.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import sys
import time

import uvicorn

WORDS = [" the", " of", " stream", " and", " a", " token", " in", " time", " that", " came"]


class Sends:
    """The sends of one answer: each waits for its planned instant and is logged before and after."""

    def __init__(self, send, request_id, received_ns):
        self.send = send
        self.line = {"x_request_id": request_id or None, "received_ns": received_ns, "events": []}

    async def head(self, status, content_type, length=None):
        headers = [(b"content-type", content_type)]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def event(self, what, planned_ns, body, more=True):
        wait_ns = planned_ns - time.monotonic_ns()
        if wait_ns > 0:
            await asyncio.sleep(wait_ns / 1e9)
        before_ns = time.monotonic_ns()
        await self.send({"type": "http.response.body", "body": body, "more_body": more})
        stamps = {"planned_ns": planned_ns, "before_ns": before_ns, "after_ns": time.monotonic_ns()}
        self.line["events"].append({"what": what, **stamps})


class Shape:
    """How vLLM writes the answers of one endpoint (vLLM 0.32)."""

    def __init__(self, chat, model, request_id):
        self.chat = chat
        self.base = {
            "id": ("chatcmpl-" if chat else "cmpl-") + request_id,
            "object": "chat.completion.chunk" if chat else "text_completion",
            "created": int(time.time()),
            "model": model,
        }

    def event(self, choices, **more):
        body = json.dumps({**self.base, "choices": choices, **more}, separators=(",", ":"), ensure_ascii=False)
        return f"data: {body}\n\n".encode()

    def role(self):
        delta = {"role": "assistant", "content": ""}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        return self.event([choice], prompt_token_ids=None)

    def token(self, text, last):
        finish = "length" if last else None
        if self.chat:
            choice = {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": finish}
        else:
            choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
        if last or not self.chat:
            choice["stop_reason"] = None
        if not self.chat:
            choice["prompt_token_ids"] = None
        choice["token_ids"] = None
        return self.event([choice])

    def unary(self, text, usage):
        if self.chat:
            choice = {"index": 0, "message": {"role": "assistant", "content": text}}
        else:
            choice = {"index": 0, "text": text}
        choice |= {"logprobs": None, "finish_reason": "length", "stop_reason": None}
        kind = "chat.completion" if self.chat else "text_completion"
        whole = {**self.base, "object": kind, "choices": [choice], "usage": usage}
        return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()


def prompt_tokens(asked):
    """A stand-in for a tokenizer: ids count, and words of text."""
    prompt = asked.get("prompt")
    if isinstance(prompt, list):
        return len(prompt)
    text = prompt if isinstance(prompt, str) else json.dumps(asked.get("messages", ""))
    return max(1, len(text.split()))


async def body_of(receive):
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("the client left before its request was complete")
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


class App:
    """The ASGI application; `options` are the command line's."""

    def __init__(self, options):
        self.options = options
        self.log = open(options.log, "a", buffering=1) if options.log else None

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            raise NotImplementedError(f"only http is served, not {scope['type']}")
        route = (scope["method"], scope["path"])
        if route == ("GET", "/health"):
            await answer(send, 200, b"", b"text/plain")
        elif route == ("GET", "/v1/models"):
            card = {"id": self.options.model, "object": "model", "owned_by": "lowrho", "max_model_len": 1 << 20}
            await answer(send, 200, json.dumps({"object": "list", "data": [card]}).encode())
        elif route in (("POST", "/v1/chat/completions"), ("POST", "/v1/completions")):
            await self.generate(scope, receive, send, chat=route[1].endswith("/chat/completions"))
        else:
            await refuse(send, 404, "NotFoundError", "Not Found")

    async def generate(self, scope, receive, send, chat):
        try:
            body = await body_of(receive)
        except ConnectionError:
            return
        received_ns = time.monotonic_ns()
        try:
            asked = json.loads(body)
            tokens = int(asked.get("max_completion_tokens") or asked.get("max_tokens") or self.options.tokens)
        except (ValueError, TypeError, AttributeError) as wrong:
            return await refuse(send, 400, "BadRequestError", f"the body is no request: {wrong}")
        if (model := asked.get("model", self.options.model)) != self.options.model:
            return await refuse(send, 404, "NotFoundError", f"The model `{model}` does not exist.")

        request_id = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        shape = Shape(chat, self.options.model, request_id or str(received_ns))
        sends = Sends(send, request_id, received_ns)
        count = prompt_tokens(asked)
        usage = {"prompt_tokens": count, "total_tokens": count + tokens, "completion_tokens": tokens}
        if asked.get("stream"):
            wanted = (asked.get("stream_options") or {}).get("include_usage")
            await self.stream(sends, shape, tokens, usage if wanted else None)
        else:
            text = "".join(WORDS[i % len(WORDS)] for i in range(tokens))
            whole = shape.unary(text, usage)
            await sends.head(200, b"application/json", len(whole))
            last_ns = received_ns + self.options.ttft_ns + (tokens - 1) * self.options.itl_ns
            await sends.event("whole", last_ns, whole, more=False)
        if self.log:
            self.log.write(json.dumps(sends.line, separators=(",", ":")) + "\n")

    async def stream(self, sends, shape, tokens, usage):
        due_ns = sends.line["received_ns"] + self.options.ttft_ns
        await sends.head(200, b"text/event-stream; charset=utf-8")
        if shape.chat:
            await sends.event("role", due_ns, shape.role())
        for i in range(tokens):
            token = shape.token(WORDS[i % len(WORDS)], last=i + 1 == tokens)
            await sends.event("token", due_ns + i * self.options.itl_ns, token)
        end_ns = due_ns + (tokens - 1) * self.options.itl_ns
        if usage:
            await sends.event("usage", end_ns, shape.event([], usage=usage))
        await sends.event("done", end_ns, b"data: [DONE]\n\n")
        await sends.event("end", end_ns, b"", more=False)


async def answer(send, status, body, content_type=b"application/json"):
    headers = [(b"content-type", content_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def refuse(send, status, kind, message):
    error = {"message": message, "type": kind, "param": None, "code": status}
    await answer(send, status, json.dumps({"error": error}).encode())


def duration_ns(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s|m)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text}: give a number with its unit, such as 20ms")
    return round(float(match[1]) * {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}[match[2]])


def loopback(text):
    if not (text.startswith("127.") or text in ("localhost", "::1")):
        raise argparse.ArgumentTypeError(f"{text}: only a loopback address is served")
    return text


def parse(arguments):
    parser = argparse.ArgumentParser(prog="stream-server/run", description=__doc__.split("\n")[0])
    parser.add_argument("--host", type=loopback, default="127.0.0.1")
    parser.add_argument("--port", type=int, default=18081)
    parser.add_argument("--cpu", type=int, help="run on this CPU alone")
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--ttft", dest="ttft_ns", type=duration_ns, default="20ms", metavar="DURATION")
    parser.add_argument("--itl", dest="itl_ns", type=duration_ns, default="5ms", metavar="DURATION")
    parser.add_argument("--tokens", type=int, default=16, help="of an answer, where the request asks for no number")
    parser.add_argument("--log", metavar="FILE", help="append the truth of each request as a JSON line")
    parser.add_argument("--for", dest="life_ns", type=duration_ns, default="5m", metavar="DURATION",
                        help="stop by itself after this time (default 5m)")
    return parser.parse_args(arguments)


async def serve(options):
    app = App(options)
    config = uvicorn.Config(app, host=options.host, port=options.port, log_level="warning", access_log=False,
                            lifespan="off", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    asyncio.get_running_loop().call_later(options.life_ns / 1e9, setattr, server, "should_exit", True)
    print(f"stream-server: http://{options.host}:{options.port}, pid {os.getpid()}", file=sys.stderr, flush=True)
    try:
        await server.serve()
    finally:
        if app.log:
            app.log.close()


def main():
    options = parse(sys.argv[1:])
    if options.cpu is not None:
        os.sched_setaffinity(0, {options.cpu})
    # uvicorn stops at these by itself, then raises them again for whoever was there before: nobody needs them.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    asyncio.run(serve(options))


if __name__ == "__main__":
    main()
