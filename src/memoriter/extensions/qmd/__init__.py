"""QMD, a program beside memoriter, as the search engine; `api` has the classes for programs."""
