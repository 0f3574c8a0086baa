"""The web pages of `memoriter serve`, on which an owner reads, searches, corrects and trusts the memory."""

from memoriter.pages._library import Library
from memoriter.pages._page import Page, PageRoute, Visit, WorkspaceLink
from memoriter.pages._page_set import Action, PageSet
from memoriter.pages._site import server_routes
from memoriter.pages._table import all_pages
from memoriter.pages._workspace import workspace_of

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
