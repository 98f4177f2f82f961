"""Calls between services, with a pool of connections and retries."""
