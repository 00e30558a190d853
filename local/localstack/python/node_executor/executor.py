"""Runs Lambda functions as processes of Node on this machine: one process for each execution environment, one line of JSON in and
one out for each invocation (run-handler.ts). No Docker, and nothing that LocalStack would have to fetch."""

import collections
import json
import os
import subprocess
import threading
from pathlib import Path

from localstack import config
from localstack.services.lambda_.invocation.lambda_models import InvocationResult
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

RUN_HANDLER = str(Path(__file__).resolve().parents[2] / "run-handler.ts")
NODE = os.environ.get("LAMBDA_NODE", "node")
# As Lambda's own: after this a start has failed.
START_SECONDS = 10
STOP_SECONDS = 3
# What the process gets longer than the function's own timeout, which it looks at itself.
ANSWER_SPARE_SECONDS = 5
LOG_LINES_MAX = 2000


class NodeExecutor(RuntimeExecutor):
    def __init__(self, id, function_version):
        super().__init__(id=id, function_version=function_version)
        self.process = None
        self.logs = collections.deque(maxlen=LOG_LINES_MAX)

    def start(self, env_vars):
        code = str(self.function_version.config.code.get_unzipped_code_location())
        env = {name: str(value) for name, value in env_vars.items()}
        env |= {"PATH": os.environ["PATH"], "HOME": code, "LAMBDA_TASK_ROOT": code, "TZ": "UTC"}
        self.process = subprocess.Popen(
            [NODE, RUN_HANDLER],
            cwd=code,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        threading.Thread(target=self._keep_logs, daemon=True).start()
        if not json.loads(self._read_line(START_SECONDS) or "{}").get("ready"):
            raise RuntimeError(f"the handler did not start: {self.get_logs()[-2000:]}")

    def _keep_logs(self):
        for line in self.process.stderr:
            self.logs.append(line)

    def _read_line(self, seconds):
        """The next line; empty when the process has ended or was killed because it took too long."""
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        try:
            return self.process.stdout.readline()
        finally:
            timer.cancel()

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOP_SECONDS)

    def get_address(self):
        return "127.0.0.1"

    def get_endpoint_from_executor(self):
        return "127.0.0.1"

    def get_runtime_endpoint(self):
        return f"http://127.0.0.1:{config.GATEWAY_LISTEN[0].port}/_node_executor/{self.id}"

    def get_logs(self):
        return "".join(self.logs)

    def invoke(self, payload):
        self.logs.clear()
        timeout = self.function_version.config.timeout
        request = payload["invoke-id"]
        try:
            self.process.stdin.write(json.dumps({**payload, "timeout": timeout}) + "\n")
            self.process.stdin.flush()
            line = self._read_line(timeout + ANSWER_SPARE_SECONDS)
        except BrokenPipeError:
            line = ""
        if not line:
            gone = f"RequestId: {request} Error: Runtime exited"
            body = json.dumps({"errorType": "Runtime.ExitError", "errorMessage": gone})
            return InvocationResult(request, body.encode(), is_error=True, logs=self.get_logs())
        answer = json.loads(line)
        body = answer["body"].encode()
        return InvocationResult(request, body, is_error=answer["error"], logs=self.get_logs())

    @classmethod
    def prepare_version(cls, function_version):
        if function_version.config.code:
            function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version):
        pass
