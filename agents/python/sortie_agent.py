"""Turns a plain Python function into an agent that Sortie can run: as an HTTP service or as a Lambda function.

    def rollout(task, episode):
        reply = episode.chat([{"role": "user", "content": task.main_query}])
        return {"reward": 1.0 if task.metadata["answer"] in reply["content"] else 0.0}

Serve it:                     python sortie_agent.py my_agent.py --port 8080
As a Lambda function:         handler = sortie_agent.lambda_handler(rollout)

One file, the standard library alone, Python 3.10 or newer: copy it beside your agent, or import it from here. The
service speaks the HTTP contract of Amazon Bedrock AgentCore Runtime (POST /invocations, GET /ping) with the `_rollout`
object of agentcore-rl-toolkit, and its managed invocations (`_agentcore_runtime`) for agents that run for hours. An app
of either package may stand in the file instead of a function; it is then served as it is.

The model's key arrives in the body of each request. It is never logged, and leaves this file only towards the model.
"""

from __future__ import annotations

import argparse
import asyncio
import contextvars
import hashlib
import importlib.util
import inspect
import json
import math
import os
import re
import select
import socket
import sys
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable

__all__ = ["Discard", "Episode", "ModelError", "Stopped", "Task", "lambda_handler", "serve"]

SESSION_HEADER = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"
ENVELOPE = "_agentcore_runtime"
MAX_BODY_BYTES = 8 * 1024 * 1024
# `status_code` of an answer: ours, beside the contract's 200 and 500.
DISCARD_STATUS = 409
MODEL_STATUS = 424
# Results of managed invocations are kept so long: an episode lasts hours at most.
KEEP_SECONDS = 3 * 86_400


class Discard(Exception):
    """Raise it to give the episode back: nobody's fault, no attempt is used up, and no reward is reported."""


class Stopped(Exception):
    """Sortie no longer wants the episode: its deadline has passed, or the engine has gone on."""


class ModelError(Exception):
    """The model did not answer with choices. Sortie tells it apart from an error of the agent."""

    def __init__(self, message: str, status: int | None = None):
        super().__init__(message)
        self.status = status


class Task(dict):
    """The task as it was pushed; every field has an empty default, and is an attribute as well as a key."""

    def __init__(self, task: dict[str, Any]):
        defaults = {"task_id": "", "main_query": "", "init_messages": [], "env_type": "", "metadata": {}}
        super().__init__({**defaults, **task})

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a task has {', '.join(self)}, and no {name}") from None


class Episode:
    """The claimed episode: the model under training, and how long it may be used."""

    def __init__(self, payload: dict[str, Any], stop: threading.Event, deadline: float | None = None):
        rollout = payload.get("_rollout") or {}
        sortie = rollout.get("sortie") or {}
        self.base_url: str = rollout.get("base_url", "")
        """OpenAI-compatible, ends in `/v1`. For a client of your own, such as `openai.OpenAI(base_url=…, api_key=…)`."""
        self.api_key: str = rollout.get("api_key", "")
        """Belongs to this episode. Never log it, never keep it."""
        self.model_id: str = rollout.get("model_id", "")
        self.sampling_params: dict[str, Any] = rollout.get("sampling_params") or {}
        self.run: str | None = rollout.get("exp_id")
        self.rollout: str | None = sortie.get("rollout")
        self.attempt: str | None = sortie.get("attempt")
        self.episode_uuid: str | None = sortie.get("episode_uuid")
        self.global_step: int | None = sortie.get("global_step")
        self.episode_type: str = sortie.get("episode_type", "train")
        limits = [limit for limit in (sortie.get("deadline"), deadline) if limit is not None]
        self.deadline: float = min(limits) if limits else math.inf
        """Unix seconds by which the function must have returned."""
        self._stop = stop

    @property
    def stopped(self) -> bool:
        """True once nobody wants the result any more."""
        return self._stop.is_set() or time.time() >= self.deadline

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.deadline - time.time())

    def raise_if_stopped(self) -> None:
        """To be called between the turns of a long agent. Raises Stopped."""
        if self.stopped:
            raise Stopped("the episode is over: its deadline has passed, or the engine has gone on")

    def chat(self, messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        """One chat completion; returns the assistant's message. Options are those of OpenAI's API.

        Raises ModelError where no answer has choices, whatever its HTTP status; Stopped once the episode is over.
        """
        return self.complete(messages, **options)["choices"][0]["message"]

    async def achat(self, messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        """`chat` for an async function."""
        return await asyncio.to_thread(self.chat, messages, **options)

    def complete(self, messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        """Like `chat`, but returns the whole completion, with `usage` and `finish_reason`."""
        self.raise_if_stopped()
        body = {"model": self.model_id or "default", **self.sampling_params, **options, "messages": messages}
        answer, status = self._post("/chat/completions", {**body, "stream": False})
        choices = answer.get("choices") if isinstance(answer, dict) else None
        if not choices or not isinstance(choices[0].get("message"), dict):
            raise ModelError(f"expected a completion with choices, found HTTP {status}: {_short(answer)}", status)
        return answer

    def log(self, message: str, **facts: Any) -> None:
        """One line in the agent's log, with the rollout that it belongs to."""
        print(message if not facts else f"{message} {json.dumps(facts, default=str)}", flush=True)

    def _post(self, path: str, body: dict[str, Any]) -> tuple[Any, int]:
        request = urllib.request.Request(
            self.base_url.rstrip("/") + path,
            data=json.dumps(body).encode(),
            headers={"content-type": "application/json", "authorization": f"Bearer {self.api_key}"},
        )
        # A model may be silent for minutes: the deadline is the only limit.
        timeout = None if math.isinf(self.deadline) else max(0.1, self.seconds_left)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as reply:
                return _parsed(reply.read()), reply.status
        except urllib.error.HTTPError as error:
            return _parsed(error.read()), error.code
        except (urllib.error.URLError, OSError, ValueError) as error:
            self.raise_if_stopped()
            raise ModelError(f"expected an answer of the model, found none: {error}") from error


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")


def _short(value: Any, limit: int = 300) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return _redact(text if len(text) <= limit else text[:limit] + "…")


def _redact(text: str) -> str:
    text = re.sub(r"sk-[\w-]{4,}[\w+/=]*", "sk-***", text)
    return re.sub(r"(?i)(bearer\s+)\S+", r"\1***", text)


# ----------------------------------------------------------------------------------------------- running the function

_current: contextvars.ContextVar[dict[str, Any] | None] = contextvars.ContextVar("sortie_rollout", default=None)


def _run(function: Callable[..., Any], payload: dict[str, Any], stop: threading.Event, deadline: float | None = None):
    """Calls the user's function. Returns the contract's answer; never raises, and no answer carries the key."""
    episode = Episode(payload, stop, deadline)
    _current.set({"rollout": episode.rollout, "attempt": episode.attempt})
    try:
        if not isinstance(payload.get("_rollout"), dict):
            raise ValueError("expected a body with `_rollout` (base_url, api_key, …), found none: is the caller Sortie?")
        task = Task(payload.get("task") or {"main_query": payload.get("prompt", "")})
        output = _output(_call(function, task, episode))
        json.dumps(output, allow_nan=False)
        return output
    except Discard as error:
        return {"status_code": DISCARD_STATUS, "stop_reason": _redact(str(error)) or "discarded by the agent"}
    except Stopped as error:
        return {"status_code": DISCARD_STATUS, "stop_reason": str(error)}
    except ModelError as error:
        return {**_failure(error, MODEL_STATUS, "model"), "model_status": error.status or 0}
    except BaseException as error:  # noqa: BLE001 - sys.exit() in an agent must not end its neighbours
        status = _openai_status(error)
        if status is not None:
            return {**_failure(error, MODEL_STATUS, "model"), "model_status": status}
        return _failure(error, 500, "agent")


def _openai_status(error: BaseException | None) -> int | None:
    """The model's HTTP status where an error is of the OpenAI SDK, 0 where no answer came; None for any other error.

    Frameworks raise errors of their own from the SDK's: the causes count as well.
    """
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        if type(error).__module__.split(".")[0] == "openai":
            status = getattr(error, "status_code", None)
            if isinstance(status, int):
                return status
            if type(error).__name__ in ("APIConnectionError", "APITimeoutError"):
                return 0
        seen.append(error)
        error = error.__cause__
    return None


def _call(function: Callable[..., Any], task: Task, episode: Episode) -> Any:
    if inspect.iscoroutinefunction(function):
        return asyncio.run(_until_stopped(function(task, episode), episode))
    result = function(task, episode)
    return asyncio.run(_until_stopped(result, episode)) if inspect.isawaitable(result) else result


async def _until_stopped(awaitable: Any, episode: Episode) -> Any:
    """Cancels an async function when nobody wants its result any more."""
    work = asyncio.ensure_future(awaitable)
    while not work.done():
        await asyncio.wait({work}, timeout=0.25)
        if not work.done() and episode.stopped:
            work.cancel()
            await asyncio.wait({work}, timeout=5)
            raise Stopped("the episode is over: its deadline has passed, or the engine has gone on")
    return work.result()


def _output(value: Any) -> dict[str, Any]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = {"reward": value}
    if not isinstance(value, dict):
        raise TypeError(f"expected a dict with `reward`, found {type(value).__name__}: return {{\"reward\": 1.0}}")
    rewards = value.get("rewards", value.get("reward"))
    last = rewards[-1] if isinstance(rewards, list) and rewards else rewards
    if value.get("status_code", 200) == 200 and "reward" not in value and "rewards" not in value:
        raise TypeError(f"expected `reward` or `rewards` in the result, found the keys {sorted(map(str, value))}")
    if isinstance(last, float) and not math.isfinite(last):
        raise ValueError(f"expected a finite reward, found {last}")
    return value


def _failure(error: BaseException, status: int, kind: str) -> dict[str, Any]:
    trace = _own_frames(error) or "".join(traceback.format_exception(type(error), error, error.__traceback__))
    print(_redact(trace).rstrip(), file=sys.stderr, flush=True)
    message = f"{type(error).__name__}: {error}"
    return {
        "status_code": status,
        "stop_reason": _redact(message)[:2000],
        "error": _redact(message)[:2000],
        "error_type": kind,
        "traceback": _redact(trace)[-8000:],
    }


def _own_frames(error: BaseException) -> str:
    """The traceback, and those of its causes, without the frames of this file and of asyncio."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    link = "\n… which led to this one:\n\n"
    before = _own_frames(cause) + link if cause is not None else ""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame.filename)]
    lines = traceback.format_list(frames) + traceback.format_exception_only(type(error), error)
    return before + ("Traceback (most recent call last):\n" if frames else "") + "".join(lines)


def _is_machinery(file: str) -> bool:
    return Path(file).name == Path(__file__).name or Path(file).parent == Path(asyncio.__file__).parent


def lambda_handler(function: Callable[..., Any]) -> Callable[[dict[str, Any], Any], dict[str, Any]]:
    """The function as a Lambda handler: the event is the contract's body, the result its answer."""

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        left_ms = context.get_remaining_time_in_millis() if context is not None else None
        # Some time is kept for the answer.
        deadline = None if left_ms is None else time.time() + left_ms / 1000 - 1
        return _run(function, event, threading.Event(), deadline)

    return handler


# ------------------------------------------------------------------------------- managed invocations (hours, not minutes)


class _Invocations:
    """Starts a function once per id and keeps what came of it, in files, so that it outlives a lost connection.

    A second start of an id does not run again. An id that was started by a process that is gone is `interrupted`.
    """

    def __init__(self, function: Callable[..., Any], folder: Path):
        self._function = function
        self._folder = folder
        self._lock = threading.Lock()
        self._live: dict[str, threading.Event] = {}
        self._done: dict[str, threading.Event] = {}

    def handle(self, envelope: Any, session: str, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        fault = _envelope_fault(envelope)
        if fault is not None:
            return 400, {"error": fault}
        name = envelope["invocation_id"]
        key = hashlib.sha256(f"{session}\n{name}".encode()).hexdigest()
        operation = envelope["operation"]
        if operation == "stop":
            return 200, self._stop(key, name)
        with self._lock:
            state = self._read(key, name)
            if state is None and operation == "get":
                return 200, _state(name, "not_found")
            if state is None:
                self._start(key, name, payload)
                state = _state(name, "in_progress")
            done = self._done.get(key)
        if operation == "start" and not envelope.get("background", False) and done is not None:
            done.wait()
            state = self._read(key, name) or state
        return 200, state

    @property
    def busy(self) -> bool:
        return len(self._live) > 0

    def _stop(self, key: str, name: str) -> dict[str, Any]:
        stop = self._live.get(key)
        if stop is not None:
            stop.set()
        return self._read(key, name) or _state(name, "not_found")

    def _read(self, key: str, name: str) -> dict[str, Any] | None:
        for file in ("result", "started"):
            try:
                state = json.loads((self._folder / f"{key}.{file}.json").read_text("utf-8"))
            except FileNotFoundError:
                continue
            crashed = state["status"] == "in_progress" and key not in self._live
            return _state(name, "interrupted") if crashed else state
        return None

    def _start(self, key: str, name: str, payload: dict[str, Any]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._forget_old()
        self._live[key] = threading.Event()
        self._done[key] = threading.Event()
        self._write(key, "started", _state(name, "in_progress"))
        threading.Thread(target=self._execute, args=(key, name, payload), daemon=True).start()

    def _execute(self, key: str, name: str, payload: dict[str, Any]) -> None:
        result = _run(self._function, payload, self._live[key])
        try:
            self._write(key, "result", {**_state(name, "completed"), "result": result})
        finally:
            self._live.pop(key, None)
            self._done.pop(key).set()

    def _forget_old(self) -> None:
        for path in self._folder.glob("*.json"):
            if time.time() - path.stat().st_mtime > KEEP_SECONDS:
                path.unlink(missing_ok=True)

    def _write(self, key: str, file: str, state: dict[str, Any]) -> None:
        """In one step: a reader sees all of it or nothing."""
        path = self._folder / f"{key}.{file}.json"
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(state), "utf-8")
        os.replace(part, path)


def _state(name: str, status: str) -> dict[str, Any]:
    return {"version": 1, "invocation_id": name, "status": status}


def _envelope_fault(envelope: Any) -> str | None:
    if not isinstance(envelope, dict):
        return f"{ENVELOPE}: expected an object"
    if envelope.get("version") != 1:
        return f"{ENVELOPE}.version: expected 1, found {envelope.get('version')!r}"
    if envelope.get("operation") not in ("start", "get", "stop"):
        return f"{ENVELOPE}.operation: expected start, get or stop, found {envelope.get('operation')!r}"
    name = envelope.get("invocation_id")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}", name):
        return f"{ENVELOPE}.invocation_id: expected 1 to 128 letters, digits, _ or -, the first no sign"
    return None


# ------------------------------------------------------------------------------------------------------- the service


def serve(
    function: Callable[..., Any],
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    max_concurrency: int = 100,
    state_dir: str | Path | None = None,
    ready: Callable[[int], None] | None = None,
) -> None:
    """Serves the function until the process ends. Port 0 takes a free one; `ready` is told which.

    Beyond `max_concurrency` requests at once the answer is 429 with retry-after, which Sortie waits for.
    """
    folder = Path(state_dir or Path(tempfile.gettempdir()) / "sortie-agent")
    server = _Server((host, port), _Handler)
    server.function = function
    server.invocations = _Invocations(function, folder)
    server.places = threading.BoundedSemaphore(max_concurrency)
    server.running = 0
    (ready or _say_ready)(server.server_address[1])
    server.serve_forever()


def _say_ready(port: int) -> None:
    print(f"the agent listens on http://127.0.0.1:{port}", flush=True)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    function: Callable[..., Any]
    invocations: _Invocations
    places: threading.BoundedSemaphore
    running: int


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        if self.path != "/ping":
            return self._answer(404, {"error": f"expected GET /ping, found {self.path}"})
        busy = self.server.running > 0 or self.server.invocations.busy
        self._answer(200, {"status": "HealthyBusy" if busy else "Healthy", "time_of_last_update": int(time.time())})

    def do_POST(self) -> None:
        if self.path != "/invocations":
            return self._answer(404, {"error": f"expected POST /invocations, found {self.path}"})
        payload = self._body()
        if payload is None:
            return None
        if not self.server.places.acquire(blocking=False):
            return self._answer(429, {"error": "too many episodes at once"}, {"retry-after": "2"})
        self.server.running += 1
        try:
            self._answer(*self._invoke(payload))
        finally:
            self.server.running -= 1
            self.server.places.release()

    def _invoke(self, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        envelope = payload.pop(ENVELOPE, None)
        if envelope is not None:
            return self.server.invocations.handle(envelope, self.headers.get(SESSION_HEADER, ""), payload)
        gone = threading.Event()
        over = threading.Event()
        watcher = threading.Thread(target=_watch, args=(self.connection, gone, over), daemon=True)
        watcher.start()
        try:
            result = _run(self.server.function, payload, gone)
        finally:
            over.set()
            watcher.join()
        status = result.get("status_code", 200)
        return (200 if status in (200, DISCARD_STATUS, MODEL_STATUS) else 500), result

    def _body(self) -> dict[str, Any] | None:
        length = int(self.headers.get("content-length") or 0)
        if length > MAX_BODY_BYTES:
            self.close_connection = True
            self._answer(413, {"error": f"expected at most {MAX_BODY_BYTES} bytes, found {length}"})
            return None
        try:
            payload = json.loads(self.rfile.read(length))
        except ValueError as error:
            self._answer(400, {"error": f"expected JSON: {error}"})
            return None
        if isinstance(payload, dict):
            return payload
        self._answer(400, {"error": f"expected a JSON object, found {type(payload).__name__}"})
        return None

    def _answer(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body, default=str).encode()
        try:
            self.send_response(status)
            for name, value in {"content-type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            # The caller has left: it learns nothing, and needs nothing.
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """One line per request would drown the agent's own."""


def _watch(connection: socket.socket, gone: threading.Event, over: threading.Event) -> None:
    """Notices that the caller has closed the connection: that is how it says that nobody wants the answer."""
    while not over.is_set():
        try:
            readable, _, _ = select.select([connection], [], [], 0.25)
            if readable and connection.recv(1, socket.MSG_PEEK) == b"":
                gone.set()
                return
            if readable:
                over.wait(0.25)
        except (OSError, ValueError):
            gone.set()
            return


# ------------------------------------------------------------------------------------------------------ the command line


class _Lines:
    """Standard output or error as lines of JSON that name the rollout which wrote them."""

    encoding = "utf-8"

    def __init__(self, out: Any, name: str):
        self._out = out
        self._name = name
        self._lock = threading.Lock()
        self._parts: dict[Any, str] = {}

    def write(self, text: str) -> int:
        about = _current.get()
        key = (about or {}).get("attempt")
        with self._lock:
            *lines, rest = (self._parts.pop(key, "") + text).split("\n")
            if rest:
                self._parts[key] = rest
            for line in lines:
                self._out.write(json.dumps({"stream": self._name, "line": _redact(line), **(about or {})}) + "\n")
            self._out.flush()
        return len(text)

    def flush(self) -> None:
        self._out.flush()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._out.fileno()


class _UserError(Exception):
    """Something that the author of the agent can mend; shown without a traceback of this file."""


def _load(path: Path) -> Any:
    if not path.is_file():
        raise _UserError(f"expected a Python file, found none at {path}")
    sys.path.insert(0, str(path.parent))
    # The agent may import this file by its name.
    sys.modules.setdefault("sortie_agent", sys.modules[__name__])
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        where = _last_line_in(path, error)
        raise _UserError(
            f"{where} imports {error.name}, which {sys.executable} does not have: "
            f"{Path(sys.executable).name} -m pip install {(error.name or '').split('.')[0]}"
        ) from error
    except BaseException as error:
        trace = _own_frames(error) or "".join(traceback.format_exception_only(type(error), error))
        raise _UserError(f"{_last_line_in(path, error)} cannot be loaded\n{trace}") from error
    return module


def _last_line_in(path: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    return f"{path}:{frames[-1].lineno}" if frames else str(path)


def _target(module: Any, path: Path) -> tuple[str, Any]:
    """The function or the app that the file holds. An app comes first: its entrypoint may be called rollout too."""
    for value in vars(module).values():
        is_app = callable(getattr(value, "run", None)) and callable(getattr(value, "entrypoint", None))
        # The class stands in the file as well: it was imported.
        if is_app and not inspect.isclass(value):
            return "app", value
    function = getattr(module, "rollout", None)
    if callable(function):
        takes = [p for p in inspect.signature(function).parameters.values() if p.default is inspect.Parameter.empty]
        if len([p for p in takes if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]) != 2:
            raise _UserError(f"{path}: expected rollout(task, episode), found rollout{inspect.signature(function)}")
        return "function", function
    raise _UserError(
        f"{path}: expected a function `rollout(task, episode)`, or an app of bedrock-agentcore or "
        f"agentcore-rl-toolkit, found neither; it defines {', '.join(_own_names(module)) or 'nothing'}"
    )


def _own_names(module: Any) -> list[str]:
    return [n for n, v in vars(module).items() if not n.startswith("_") and getattr(v, "__module__", None) == module.__name__]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="sortie_agent.py", description="Serves a Python agent to Sortie.")
    parser.add_argument("file", type=Path, help="the agent: a file with rollout(task, episode), or with an app")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free one")
    parser.add_argument("--max-concurrency", type=int, default=100)
    parser.add_argument("--state-dir", default=None, help="where managed invocations are kept")
    parser.add_argument("--json", action="store_true", help="every line of output is JSON that names its rollout")
    options = parser.parse_args(arguments)
    plain = sys.stdout
    if options.json:
        sys.stdout, sys.stderr = _Lines(sys.stdout, "stdout"), _Lines(sys.stderr, "stderr")
    try:
        kind, target = _target(_load(options.file.resolve()), options.file)
        ready = (lambda port: _write_ready(plain, port, kind)) if options.json else _say_ready
        if kind == "app":
            _serve_app(target, options, ready)
        else:
            serve(
                target,
                host=options.host,
                port=options.port,
                max_concurrency=options.max_concurrency,
                state_dir=options.state_dir,
                ready=ready,
            )
        return 0
    except _UserError as error:
        print(error, file=sys.stderr, flush=True)
        return 2
    except OSError as error:
        taken = "is taken by another process: choose another --port, or 0 for a free one"
        print(f"port {options.port} {taken} ({error})", file=sys.stderr, flush=True)
        return 3
    except KeyboardInterrupt:
        return 130


def _serve_app(app: Any, options: argparse.Namespace, ready: Callable[[int], None]) -> None:
    """An app of bedrock-agentcore serves itself; it is ready once its port answers."""
    port = options.port or _free_port(options.host)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((options.host, port))

    def tell() -> None:
        while True:
            try:
                socket.create_connection((options.host, port), timeout=1).close()
                return ready(port)
            except OSError:
                time.sleep(0.1)

    threading.Thread(target=tell, daemon=True).start()
    app.run(port=port, host=options.host)


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def _write_ready(out: Any, port: int, kind: str) -> None:
    out.write(json.dumps({"ready": True, "port": port, "kind": kind}) + "\n")
    out.flush()


if __name__ == "__main__":
    sys.exit(main())
