"""Benchmarks and ordeals anyone can run again: `python -m benchmarks.NAME --help`."""
