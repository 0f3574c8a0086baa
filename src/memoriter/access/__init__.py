"""Access over HTTP: who calls, what a caller may do, and which requests of browsers are refused."""

from memoriter.access._browser import CONSENT_PATH, DEVICE_PATH, OPEN_PATH, SIGN_IN_PATH, SIGN_OUT_PATH, BrowserSessions
from memoriter.access._caller import Caller, caller_of, is_still_known, known_caller
from memoriter.access._form_page import FormTooLong, form_page, read_form, sign_in_page
from memoriter.access._identity import Authenticator, authenticator_of
from memoriter.access._middleware import AccessMiddleware, ServedMemory, limit_reached, with_safe_headers
from memoriter.access._origins import Origins, header_of, is_local
from memoriter.access._problem import PROBLEM_TYPE, problem_response
from memoriter.access._rate import CallerLimits, LimitReached, RateLimit
from memoriter.access._record import FIELDS, TOOL, UPLOAD, RequestRecord, name_of_caller
from memoriter.access._run import Run
from memoriter.access._shares import Permit, Shares
from memoriter.access._small_page import PAGE_POLICY, small_page

__all__ = [
    "CONSENT_PATH",
    "DEVICE_PATH",
    "FIELDS",
    "OPEN_PATH",
    "PAGE_POLICY",
    "PROBLEM_TYPE",
    "SIGN_IN_PATH",
    "SIGN_OUT_PATH",
    "TOOL",
    "UPLOAD",
    "AccessMiddleware",
    "Authenticator",
    "BrowserSessions",
    "Caller",
    "CallerLimits",
    "FormTooLong",
    "LimitReached",
    "Origins",
    "Permit",
    "RateLimit",
    "RequestRecord",
    "Run",
    "ServedMemory",
    "Shares",
    "authenticator_of",
    "caller_of",
    "form_page",
    "header_of",
    "is_local",
    "is_still_known",
    "known_caller",
    "limit_reached",
    "name_of_caller",
    "problem_response",
    "read_form",
    "sign_in_page",
    "small_page",
    "with_safe_headers",
]
