"""An S3 server for tests."""

from __future__ import annotations

import logging
from functools import cache

KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "y"}
REGION = "us-east-1"


def bucket_options() -> dict[str, str]:
    """Return LanceDB's options of the bucket `memories` on a local server."""
    return {**KEYS, "region": REGION, "allow_http": "true", "endpoint": s3_server()}


@cache
def s3_server() -> str:
    """Start a server of S3 in this process, with a bucket, and return its address; it ends with the process."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    boto3.client("s3", endpoint_url=address, region_name=REGION, **KEYS).create_bucket(Bucket="memories")
    return address
