"""The web pages of `memoriter serve`, on which an owner reads, searches, corrects and trusts the memory."""

from memoriter.pages._page import Page, PageRoute, Visit
from memoriter.pages._site import server_routes
from memoriter.pages._table import PAGES

__all__ = ["PAGES", "Page", "PageRoute", "Visit", "server_routes"]
