"""The batch interfaces, as servers that run a job when they are told to.

OpenAI, from developers.openai.com/api/reference/resources/batches and .../files: `POST /v1/files` is a multipart form
with `purpose` and `file`; `POST /v1/batches` has `input_file_id`, `endpoint`, `completion_window` and `metadata`;
`status` is validating, failed, in_progress, finalizing, completed, expired, cancelling or cancelled; results are lines
of `{"id", "custom_id", "response": {"status_code", "request_id", "body"}, "error"}` in the files `output_file_id` and
`error_file_id`, in any order, to be had at `GET /v1/files/<id>/content`.

Voyage AI, from docs.voyageai.com/docs/batch-inference: the same, but lines are `{"custom_id", "body": {"input"}}` and
the job has `request_params` (model, input_type) and a window of `12h`.

Gemini, from ai.google.dev/api/embeddings and /gemini-api/docs/batch-api: `POST models/<m>:asyncBatchEmbedContent` with
`{"batch": {"displayName", "inputConfig": {"requests": {"requests": [{"request", "metadata"}]}}}}` gives an operation
`{"name": "batches/<id>", "metadata": {"state"}}`; at the end `done` is true and `response.inlinedResponses` has
`{"inlinedResponses": [{"metadata", "response": {"embedding": {"values"}}} or {"metadata", "error"}]}`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from servers.base import KEY, Answer, Call, ScriptedServer, need
from servers.gemini import GeminiServer
from servers.openai import OpenAIServer
from servers.voyage import VoyageServer


@dataclass
class Job:
    number: str
    parameters: dict[str, Any]
    items: list[dict[str, Any]]
    polls: int = 0
    status: str = "validating"
    outputs: dict[str, str] = field(default_factory=dict)


class BatchServer(ScriptedServer):
    """`runs_after` polls a job ends; `ends` says how; `refuses` and `loses` name keys without a vector."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[Job] = []
        self.files: dict[str, bytes] = {}
        self.runs_after = 1
        self.ends = "completed"
        self.deaf = False
        """Whether cancelling is ignored."""
        self.refuses: set[str] = set()
        self.loses: set[str] = set()

    @property
    def sent_keys(self) -> list[list[str]]:
        return [[self.key_of(item) for item in job.items] for job in self.jobs]

    def key_of(self, item: dict[str, Any]) -> str:
        return item["custom_id"]

    def advance(self, job: Job) -> None:
        job.polls += 1
        if job.polls >= self.runs_after and job.status in {"validating", "in_progress"}:
            job.status = self.ends
            self.finish(job)
        elif job.status == "validating":
            job.status = "in_progress"

    def finish(self, job: Job) -> None:
        raise NotImplementedError


class _FileBatches(BatchServer):
    def answer(self, call: Call) -> Answer:
        need(call.headers.get("authorization") == f"Bearer {KEY}", 401, self.wrong_key().value)
        path = call.path.partition("?")[0].removeprefix("/v1")
        if call.method == "DELETE":
            need(self.files.pop(path.split("/")[2], None) is not None, 404, {})
            return Answer(200, {"deleted": True})
        if path == "/files":
            return self.uploaded(call)
        if path == "/batches":
            return self.created(call.json) if call.method == "POST" else self.listed()
        if match := re.fullmatch(r"/batches/(\w+)(/cancel)?", path):
            return self.status_of(match[1], cancel=bool(match[2]))
        if match := re.fullmatch(r"/files/([\w-]+)/content", path):
            need(match[1] in self.files, 404, {"error": {"message": "No such File object"}})
            return Answer(200, self.files[match[1]], {"content-type": "application/octet-stream"})
        return super().answer(call)

    def uploaded(self, call: Call) -> Answer:
        mark = call.headers["content-type"].partition("boundary=")[2].encode()
        parts = call.body.split(b"--" + mark)
        assert parts[0] == b""
        assert parts[-1] == b"--\r\n"
        fields = {}
        for part in parts[1:-1]:
            head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
            fields[re.search(rb' name="(\w+)"', head)[1]] = content.removesuffix(b"\r\n")
        need(fields[b"purpose"] == b"batch", 400, {"error": {"message": "bad purpose"}})
        number = f"file-in{len(self.files)}"
        self.files[number] = fields[b"file"]
        return Answer(200, {"id": number, "object": "file", "purpose": "batch", "bytes": len(fields[b"file"])})

    def created(self, parameters: dict[str, Any]) -> Answer:
        need(parameters["endpoint"] == "/v1/embeddings", 400, {"error": {"message": "bad endpoint"}})
        lines = self.files[parameters["input_file_id"]].splitlines()
        items = [json.loads(line) for line in lines]
        keys = [item["custom_id"] for item in items]
        need(len(set(keys)) == len(keys), 400, {"error": {"message": "custom_id must be unique"}})
        self.jobs.append(Job(f"batch{len(self.jobs)}", parameters, items))
        return Answer(200, self.shown(self.jobs[-1]))

    def listed(self) -> Answer:
        return Answer(200, {"object": "list", "data": [self.shown(job) for job in reversed(self.jobs)]})

    def status_of(self, number: str, *, cancel: bool) -> Answer:
        job = next((job for job in self.jobs if job.number == number), None)
        need(job, 404, {"error": {"message": "No batch found"}})
        assert job is not None
        if cancel and not self.deaf:
            job.status = "cancelled"
            self.finish(job)
        elif not cancel:
            self.advance(job)
        return Answer(200, self.shown(job))

    def shown(self, job: Job) -> dict[str, Any]:
        errors = {"object": "list", "data": [{"message": "Enqueued token limit reached", "line": None}]}
        return {
            "id": job.number,
            "object": "batch",
            "status": job.status,
            "errors": errors if job.status == "failed" else None,
            "metadata": job.parameters.get("metadata"),
            "output_file_id": job.outputs.get("output"),
            "error_file_id": job.outputs.get("error"),
        }

    def one(self, job: Job, item: dict[str, Any]) -> Answer:
        raise NotImplementedError

    def finish(self, job: Job) -> None:
        if job.status == "failed":
            return
        good = []
        bad = []
        for item in reversed(job.items):
            key = item["custom_id"]
            if key in self.loses:
                lost = {"code": "batch_expired", "message": "This request could not be executed in time."}
                bad.append({"custom_id": key, "response": None, "error": lost})
                continue
            refused = key in self.refuses
            answer = Answer(400, {"error": {"message": "no such text"}}) if refused else self.one(job, item)
            response = {"status_code": answer.status, "request_id": "r", "body": answer.value}
            (bad if refused else good).append({"id": "x", "custom_id": key, "response": response, "error": None})
        for name, lines in {"output": good, "error": bad}.items():
            if lines:
                number = f"file-{name}-{job.number}"
                self.files[number] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
                job.outputs[name] = number


class OpenAIBatches(_FileBatches, OpenAIServer):
    def one(self, job: Job, item: dict[str, Any]) -> Answer:
        assert (item["method"], item["url"], job.parameters["completion_window"]) == ("POST", "/v1/embeddings", "24h")
        return self.embeddings(item["body"])


class VoyageBatches(_FileBatches, VoyageServer):
    def one(self, job: Job, item: dict[str, Any]) -> Answer:
        assert set(item["body"]) == {"input"}
        assert job.parameters["completion_window"] == "12h"
        return self.embeddings(item["body"] | job.parameters["request_params"])


class GeminiBatches(BatchServer, GeminiServer):
    def answer(self, call: Call) -> Answer:
        need(call.headers.get("x-goog-api-key") == KEY, 400, self.wrong_key().value)
        path = call.path.removeprefix("/v1beta/")
        if path.endswith(":asyncBatchEmbedContent"):
            batch = call.json["batch"]
            self.jobs.append(Job(f"batches/b{len(self.jobs)}", batch, batch["inputConfig"]["requests"]["requests"]))
            return Answer(200, self.shown(self.jobs[-1]))
        if path.startswith("batches?"):
            return Answer(200, {"operations": [self.shown(job) for job in reversed(self.jobs)]})
        number, _, method = path.partition(":")
        if job := next((job for job in self.jobs if job.number == number), None):
            if call.method == "DELETE":
                self.jobs.remove(job)
                return Answer(200, {})
            if method == "cancel":
                job.status = "cancelled"
                return Answer(200, {})
            self.advance(job)
            return Answer(200, self.shown(job))
        need(not number.startswith("batches/"), 404, {"error": {"code": 404, "message": "not found"}})
        return super().answer(call)

    def key_of(self, item: dict[str, Any]) -> str:
        return item["metadata"]["key"]

    def finish(self, job: Job) -> None:
        """The answers are in the operation."""

    def shown(self, job: Job) -> dict[str, Any]:
        states = {
            "validating": "BATCH_STATE_PENDING",
            "in_progress": "BATCH_STATE_RUNNING",
            "completed": "BATCH_STATE_SUCCEEDED",
            "failed": "BATCH_STATE_FAILED",
            "expired": "BATCH_STATE_EXPIRED",
            "cancelled": "BATCH_STATE_CANCELLED",
        }
        about = {
            "state": states[job.status],
            "displayName": job.parameters["displayName"],
            "model": job.parameters["model"],
        }
        operation: dict[str, Any] = {"name": job.number, "metadata": about}
        if job.status in {"failed", "expired", "cancelled"}:
            operation |= {"done": True, "error": {"code": 13, "message": "the batch did not finish"}}
        if job.status == "completed":
            rows = [self.inlined(item) for item in job.items]
            operation |= {"done": True, "response": {"inlinedResponses": {"inlinedResponses": rows}}}
        return operation

    def inlined(self, item: dict[str, Any]) -> dict[str, Any]:
        key = self.key_of(item)
        if key in self.refuses | self.loses:
            error = {"code": 3 if key in self.refuses else 13, "message": "no such text"}
            return {"metadata": item["metadata"], "error": error}
        embedding = self.embedding(item["request"]["model"], item["request"])
        return {"metadata": item["metadata"], "response": {"embedding": embedding}}


BATCHES = {server.vendor: server for server in (GeminiBatches, OpenAIBatches, VoyageBatches)}
