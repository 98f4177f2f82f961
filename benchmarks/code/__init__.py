"""Code search on labelled repositories."""
