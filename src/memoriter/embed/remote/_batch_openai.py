"""OpenAI's batch interface: a file of requests, `POST /batches`, a file of results. Half the price, within a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.embed.remote._batch_api import file_batch_api
from memoriter.embed.remote._openai import VENDOR, request_body

if TYPE_CHECKING:
    from memoriter.embed.remote._remote_settings import RemoteSettings

_ENDPOINT = "/v1/embeddings"


def _line(key: str, text: str, settings: RemoteSettings) -> object:
    return {"custom_id": key, "method": "POST", "url": _ENDPOINT, "body": request_body([text], settings)}


def _job(file: str, settings: RemoteSettings) -> dict[str, object]:
    del settings
    return {"input_file_id": file, "endpoint": _ENDPOINT, "completion_window": "24h"}


# developers.openai.com/api/docs/guides/batch: the limits are 50,000 texts and 200 MB per file.
API = file_batch_api(VENDOR, most_inputs=10_000, line=_line, job=_job)
