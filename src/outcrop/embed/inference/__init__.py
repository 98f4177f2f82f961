"""Transformers, run in one process of their own that all models and threads of this one share.

On the way of a text:

    runner.py   this side: `HeldModel`, all that an embedder or a reranker sees, and the thread that feeds the worker
    slices.py   requests that wait, and how they are cut into slices
    worker.py   the other side: answers one frame at a time
    session.py  one model in there, run by onnxruntime
"""
