"""An S3 server for tests."""

from __future__ import annotations

import io
import threading
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "y"}
REGION = "us-east-1"


def bucket_options() -> dict[str, str]:
    """Return LanceDB's options of the bucket `memories` on a local server."""
    return {**KEYS, "region": REGION, "allow_http": "true", "endpoint": s3_server()}


@cache
def s3_server() -> str:
    """Start a server of S3 in this process, with a bucket, and return its address; it ends with the process."""
    import boto3
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Log nothing."""

    backend = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, backend, threaded=True, request_handler=Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.port}"
    boto3.client("s3", endpoint_url=address, region_name=REGION, **KEYS).create_bucket(Bucket="memories")
    return address


class OneAtATime:
    """A web application that handles one whole request at a time.

    S3 promises that of two writers that create an object with `If-None-Match: *`, one fails; LanceDB relies on it. moto
    compares first and writes then, without a lock, so that both could succeed and the rows of one were gone. S3 also
    refuses a request whose body ends too early, such as that of a writer that was killed; moto stores what has come.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if length := int(environ.get("CONTENT_LENGTH") or 0):
            body = environ["wsgi.input"].read(length)
            if len(body) < length:
                start_response(f"{HTTPStatus.BAD_REQUEST.value} IncompleteBody", [("Content-Length", "0")])
                return []
            environ["wsgi.input"] = io.BytesIO(body)
        with self._lock:
            return list(self._application(environ, start_response))
