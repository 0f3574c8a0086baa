"""The web pages of `memoriter serve`, on which an owner reads, searches, corrects and trusts the memory."""

from memoriter.pages._library import Library
from memoriter.pages._page import Action, Page, PageRoute, PageSet, Visit, WorkspaceLink, workspace_of
from memoriter.pages._site import all_pages, server_routes

__all__ = [
    "Action",
    "Library",
    "Page",
    "PageRoute",
    "PageSet",
    "Visit",
    "WorkspaceLink",
    "all_pages",
    "server_routes",
    "workspace_of",
]
