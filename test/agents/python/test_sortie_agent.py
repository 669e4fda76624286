"""The Python kit, over its HTTP service, as a Lambda handler and from the command line. Standard library alone."""

import asyncio
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

KIT = Path(__file__).parents[3] / "agents" / "python" / "sortie_agent.py"
sys.path.insert(0, str(KIT.parent))

import sortie_agent  # noqa: E402

KEY = "sk-ajet-c2VjcmV0LWtleQ=="


def body(task_id="t1", base_url="http://127.0.0.1:1", **extra):
    sortie = {"rollout": "run/r/train/0/t1", "attempt": "a.1", "deadline": time.time() + 60, "episode_uuid": "e"}
    rollout = {"base_url": base_url, "api_key": KEY, "model_id": "m", "exp_id": "r", "input_id": task_id}
    task = {"task_id": task_id, "main_query": "6 × 7?", "metadata": {"answer": "42"}}
    return {"prompt": "6 × 7?", "answer": "42", "task": task, "_rollout": {**rollout, "sortie": sortie}, **extra}


class Service:
    """The kit's service on a free port, in this process."""

    def __init__(self, function, **options):
        ready = threading.Event()

        def tell(port):
            self.port = port
            ready.set()

        options = {"port": 0, "ready": tell, "state_dir": tempfile.mkdtemp(), **options}
        threading.Thread(target=sortie_agent.serve, args=(function,), kwargs=options, daemon=True).start()
        ready.wait(10)

    def post(self, payload, path="/invocations", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        connection.request("POST", path, data, {"content-type": "application/json", **(headers or {})})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read()), dict(reply.getheaders())

    def ping(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/ping")
        return json.loads(connection.getresponse().read())["status"]


class Model:
    """An OpenAI-compatible server that answers as told, and keeps what it was asked."""

    def __init__(self, status=200, answer=None):
        asked = self.asked = []
        answer = answer or {"choices": [{"message": {"role": "assistant", "content": "42"}}]}

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers["content-length"])
                asked.append((self.path, self.headers["authorization"], json.loads(self.rfile.read(length))))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"


def math_agent(task, episode):
    reply = episode.chat([{"role": "user", "content": task.main_query}], temperature=0.5)
    return {"reward": 1.0 if task.metadata["answer"] in reply["content"] else 0.0}


class TheService(unittest.TestCase):
    def test_gives_a_function_its_task_and_model_and_answers_with_its_reward(self):
        model = Model()
        status, answer, _ = Service(math_agent).post(body(base_url=model.url))
        self.assertEqual((status, answer), (200, {"reward": 1.0}))
        ((path, key, asked),) = model.asked
        self.assertEqual((path, key), ("/v1/chat/completions", f"Bearer {KEY}"))
        self.assertEqual(asked["messages"], [{"role": "user", "content": "6 × 7?"}])
        self.assertEqual((asked["temperature"], asked["stream"]), (0.5, False))

    def test_runs_async_functions_and_takes_a_bare_number(self):
        async def agent(task, episode):
            reply = await episode.achat([{"role": "user", "content": task["main_query"]}])
            return float(reply["content"])

        self.assertEqual(Service(agent).post(body(base_url=Model().url))[:2], (200, {"reward": 42.0}))

    def test_an_error_comes_with_the_line_of_the_agent_and_without_the_key(self):
        def agent(task, episode):
            raise ValueError(f"no sandbox with {episode.api_key}")

        status, answer, _ = Service(agent).post(body())
        self.assertEqual((status, answer["status_code"], answer["error_type"]), (500, 500, "agent"))
        self.assertEqual(answer["error"], "ValueError: no sandbox with sk-***")
        self.assertIn("test_sortie_agent.py", answer["traceback"])
        self.assertNotIn(KIT.name + '", line', answer["traceback"].replace("test_sortie_agent.py", ""))
        self.assertNotIn(KEY, json.dumps(answer))

    def test_the_causes_of_an_error_are_told(self):
        def agent(task, episode):
            try:
                {}["missing"]
            except KeyError as error:
                raise RuntimeError("no answer") from error

        answer = Service(agent).post(body())[1]
        self.assertIn("KeyError: 'missing'", answer["traceback"])
        self.assertIn("RuntimeError: no answer", answer["traceback"])

    def test_sys_exit_in_an_agent_is_an_error_of_that_agent_alone(self):
        service = Service(lambda task, episode: sys.exit(3) if task.task_id == "t1" else 1)
        self.assertEqual(service.post(body())[1]["error"], "SystemExit: 3")
        self.assertEqual(service.post(body(task_id="t2"))[1], {"reward": 1})

    def test_a_discarded_episode_is_409_in_the_body(self):
        def agent(task, episode):
            raise sortie_agent.Discard("the sandbox did not start")

        expected = {"status_code": 409, "stop_reason": "the sandbox did not start"}
        self.assertEqual(Service(agent).post(body())[:2], (200, expected))

    def test_a_model_that_does_not_answer_with_choices_is_told_apart(self):
        for model, found in [
            (Model(200, {"status_code": 401, "detail": "bad key"}), "HTTP 200"),
            (Model(503, {"error": "busy"}), "HTTP 503"),
        ]:
            status, answer, _ = Service(math_agent).post(body(base_url=model.url))
            self.assertEqual((status, answer["status_code"], answer["error_type"]), (200, 424, "model"))
            self.assertIn(found, answer["error"])
            self.assertEqual(answer["model_status"], int(found[-3:]))
        answer = Service(math_agent).post(body(base_url="http://127.0.0.1:1/v1"))[1]
        self.assertEqual((answer["error_type"], answer["model_status"]), ("model", 0))

    def test_an_error_of_the_openai_sdk_is_the_models(self):
        def error_of(name, **facts):
            return type(name, (Exception,), {"__module__": "openai", **facts})("it broke")

        for name, facts, expected in [
            ("APIConnectionError", {}, (424, "model", 0)),
            ("APITimeoutError", {}, (424, "model", 0)),
            ("BadRequestError", {"status_code": 400}, (424, "model", 400)),
            ("LengthFinishReasonError", {}, (500, "agent", None)),
        ]:

            def agent(task, episode, name=name, facts=facts):
                raise error_of(name, **facts)

            answer = Service(agent).post(body())[1]
            self.assertEqual((answer["status_code"], answer["error_type"], answer.get("model_status")), expected)

    def test_a_framework_s_error_from_one_of_the_openai_sdk_is_the_models_too(self):
        sdk = type("RateLimitError", (Exception,), {"__module__": "openai", "status_code": 429})

        def agent(task, episode):
            try:
                raise sdk("too many")
            except sdk as error:
                raise RuntimeError("the loop failed") from error

        answer = Service(agent).post(body())[1]
        self.assertEqual((answer["error_type"], answer["model_status"]), ("model", 429))

    def test_what_is_no_output_is_refused_with_what_was_found(self):
        for result, found in [
            (None, "found NoneType"),
            ({"score": 1}, "found the keys ['score']"),
            ({"reward": float("nan")}, "found nan"),
            ({"rewards": [1, float("inf")]}, "found inf"),
        ]:
            status, answer, _ = Service(lambda task, episode, result=result: result).post(body())
            self.assertEqual(status, 500)
            self.assertIn(found, answer["error"])

    def test_closing_the_connection_stops_the_agent(self):
        seen = threading.Event()

        def agent(task, episode):
            while not episode.stopped:
                time.sleep(0.01)
            seen.set()
            episode.raise_if_stopped()

        service = Service(agent)
        connection = http.client.HTTPConnection("127.0.0.1", service.port)
        connection.request("POST", "/invocations", json.dumps(body()))
        connection.close()
        self.assertTrue(seen.wait(20))

    def test_closing_the_connection_cancels_an_async_agent(self):
        cancelled = threading.Event()

        async def agent(task, episode):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        connection = http.client.HTTPConnection("127.0.0.1", Service(agent).port)
        connection.request("POST", "/invocations", json.dumps(body()))
        connection.close()
        self.assertTrue(cancelled.wait(20))

    def test_the_deadline_stops_the_agent(self):
        async def agent(task, episode):
            await asyncio.Event().wait()

        late = body()
        late["_rollout"]["sortie"]["deadline"] = time.time() + 0.2
        self.assertEqual(Service(agent).post(late)[1]["status_code"], 409)

    def test_ping_tells_whether_it_is_busy(self):
        release, begun = threading.Event(), threading.Event()

        def agent(task, episode):
            begun.set()
            release.wait(20)
            return 1

        service = Service(agent)
        self.assertEqual(service.ping(), "Healthy")
        work = threading.Thread(target=service.post, args=(body(),))
        work.start()
        begun.wait(20)
        self.assertEqual(service.ping(), "HealthyBusy")
        release.set()
        work.join()
        self.assertEqual(service.ping(), "Healthy")

    def test_too_many_at_once_are_told_to_come_back(self):
        release, begun = threading.Event(), threading.Event()

        def agent(task, episode):
            begun.set()
            release.wait(20)
            return 1

        service = Service(agent, max_concurrency=1)
        work = threading.Thread(target=service.post, args=(body(),))
        work.start()
        begun.wait(20)
        status, _, headers = service.post(body())
        self.assertEqual((status, headers["retry-after"]), (429, "2"))
        release.set()
        work.join()

    def test_what_is_no_request_is_refused(self):
        service = Service(math_agent)
        self.assertEqual(service.post(b"{")[0], 400)
        self.assertEqual(service.post([1])[0], 400)
        self.assertEqual(service.post({}, path="/elsewhere")[0], 404)
        self.assertIn("_rollout", service.post({"prompt": "hello"})[1]["error"])


class ManagedInvocations(unittest.TestCase):
    def invoke(self, service, operation, name="i1", session="s" * 33, **extra):
        envelope = {"version": 1, "operation": operation, "invocation_id": name, **extra}
        payload = {**(body() if operation == "start" else {}), "_agentcore_runtime": envelope}
        return service.post(payload, headers={sortie_agent.SESSION_HEADER: session})[:2]

    def test_start_once_and_get_until_it_is_completed(self):
        release, runs = threading.Event(), []

        def agent(task, episode):
            runs.append(task.task_id)
            release.wait(20)
            return 0.25

        service = Service(agent)
        self.assertEqual(self.invoke(service, "get")[1]["status"], "not_found")
        self.assertEqual(self.invoke(service, "start", background=True)[1]["status"], "in_progress")
        self.assertEqual(self.invoke(service, "start", background=True)[1]["status"], "in_progress")
        self.assertEqual(self.invoke(service, "get", session="t" * 33)[1]["status"], "not_found")
        release.set()
        done = self.invoke(service, "start")[1]
        self.assertEqual((done["status"], done["result"]), ("completed", {"reward": 0.25}))
        self.assertEqual(self.invoke(service, "get")[1], done)
        self.assertEqual(runs, ["t1"])

    def test_what_a_dead_process_had_begun_is_interrupted(self):
        folder = tempfile.mkdtemp()
        forever = threading.Event()
        first = Service(lambda task, episode: forever.wait(30), state_dir=folder)
        self.invoke(first, "start", background=True)
        second = Service(lambda task, episode: 1, state_dir=folder)
        self.assertEqual(self.invoke(second, "get")[1]["status"], "interrupted")
        forever.set()

    def test_stop_tells_the_agent(self):
        def agent(task, episode):
            while not episode.stopped:
                time.sleep(0.01)
            episode.raise_if_stopped()

        service = Service(agent)
        self.invoke(service, "start", background=True)
        self.invoke(service, "stop")
        self.assertEqual(self.invoke(service, "start")[1]["result"]["status_code"], 409)

    def test_a_faulty_envelope_is_refused_by_name(self):
        service = Service(lambda task, episode: 1)
        self.assertEqual(self.invoke(service, "begin")[0], 400)
        self.assertIn("invocation_id", self.invoke(service, "get", name="../x")[1]["error"])


class AsALambdaFunction(unittest.TestCase):
    class Context:
        @staticmethod
        def get_remaining_time_in_millis():
            return 5000

    def test_the_event_is_the_body_and_the_time_left_is_the_deadline(self):
        seen = []

        def agent(task, episode):
            seen.append(episode.seconds_left)
            return {"reward": 0.75}

        self.assertEqual(sortie_agent.lambda_handler(agent)(body(), self.Context), {"reward": 0.75})
        self.assertLess(seen[0], 5)


class TheCommandLine(unittest.TestCase):
    def run_kit(self, source, *options):
        path = Path(tempfile.mkdtemp()) / "my_agent.py"
        path.write_text(source)
        command = [sys.executable, str(KIT), str(path), "--port", "0", *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=30)

    def test_a_missing_package_is_named_with_its_line_and_what_to_do(self):
        done = self.run_kit("import json\nimport not_there_at_all\n")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"my_agent\.py:2 imports not_there_at_all, .* pip install not_there_at_all")

    def test_a_syntax_error_and_an_error_while_loading_have_their_line(self):
        self.assertRegex(self.run_kit("def rollout(task, episode)\n").stderr, r"my_agent\.py:1 cannot be loaded")
        self.assertRegex(self.run_kit("x = 1\ny = x / 0\n").stderr, r"my_agent\.py:2 cannot be loaded[\s\S]*ZeroDivision")

    def test_a_file_without_an_agent_says_what_it_found(self):
        done = self.run_kit("def run(task):\n    return 1\n")
        self.assertIn("expected a function `rollout(task, episode)`", done.stderr)
        self.assertIn("it defines run", done.stderr)
        self.assertIn("found rollout(task)", self.run_kit("def rollout(task):\n    return 1\n").stderr)

    def test_an_app_is_what_was_made_of_its_class_not_the_class(self):
        app = "class App:\n    def entrypoint(self, f):\n        return f\n    def run(self, port, host):\n"
        done = self.run_kit(app + "        print('served', host)\napp = App()\n")
        self.assertEqual((done.stdout.strip(), done.stderr), ("served 127.0.0.1", ""))

    def test_a_port_that_is_taken_is_named(self):
        taken = Service(lambda task, episode: 1).port
        path = Path(tempfile.mkdtemp()) / "my_agent.py"
        path.write_text("def rollout(task, episode):\n    return 1\n")
        command = [sys.executable, str(KIT), str(path), "--port", str(taken)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, f"port {taken} is taken" in done.stderr), (3, True))

    def test_an_app_is_served_though_its_class_stands_before_it_and_its_entrypoint_is_called_rollout(self):
        module = (
            "class App:\n"
            "    def entrypoint(self, function):\n        self.function = function\n        return function\n"
            "    def run(self, port, host):\n        print('served by', self.function.__name__)\n"
        )
        source = (
            "import sys, types\nmodule = types.ModuleType('the_apps')\n"
            f"exec({module!r}, module.__dict__)\nsys.modules['the_apps'] = module\n"
            "from the_apps import App\napp = App()\n@app.entrypoint\ndef rollout(payload):\n    return {}\n"
        )
        done = self.run_kit(source)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("served by rollout", done.stdout)

    def test_lines_of_output_name_their_rollout(self):
        path = Path(tempfile.mkdtemp()) / "my_agent.py"
        path.write_text("print('loading')\ndef rollout(task, episode):\n    print('at work')\n    return 1\n")
        command = [sys.executable, str(KIT), str(path), "--port", "0", "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            lines = []
            while not lines or "ready" not in lines[-1]:
                lines.append(json.loads(process.stdout.readline()))
            connection = http.client.HTTPConnection("127.0.0.1", lines[-1]["port"], timeout=30)
            connection.request("POST", "/invocations", json.dumps(body()))
            self.assertEqual(json.loads(connection.getresponse().read()), {"reward": 1})
            said = json.loads(process.stdout.readline())
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()
        self.assertEqual(lines[0], {"stream": "stdout", "line": "loading"})
        self.assertEqual((said["line"], said["rollout"], said["attempt"]), ("at work", "run/r/train/0/t1", "a.1"))


if __name__ == "__main__":
    unittest.main()
