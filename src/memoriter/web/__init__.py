"""The HTTP API: operations as one table, their OpenAPI document, events, and the page that a session opens."""

from memoriter.web._app import api_routes
from memoriter.web._events import Events
from memoriter.web._openapi import openapi_document
from memoriter.web._operations import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Events", "Operation", "api_routes", "openapi_document"]
