"""Models behind a network address: one file a vendor, one HTTP client."""
