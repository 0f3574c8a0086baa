"""Voyage AI's batch interface: a file of texts, `POST /batches` with the parameters, a file of results in 12 hours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.embed.remote._batch_api import file_batch_api
from memoriter.embed.remote._voyage import VENDOR, request_params

if TYPE_CHECKING:
    from memoriter.embed.remote._remote_settings import RemoteSettings


def _line(key: str, text: str, settings: RemoteSettings) -> object:
    del settings
    return {"custom_id": key, "body": {"input": [text]}}


def _job(file: str, settings: RemoteSettings) -> dict[str, object]:
    return {
        "endpoint": "/v1/embeddings",
        "completion_window": "12h",
        "request_params": request_params("document", settings),
        "input_file_id": file,
    }


# docs.voyageai.com/docs/batch-inference: the limits are 100,000 texts and 1 GB per file.
API = file_batch_api(VENDOR, most_inputs=5_000, line=_line, job=_job)
