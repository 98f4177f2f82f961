"""Data sets, metrics and runs: how good is it?"""
