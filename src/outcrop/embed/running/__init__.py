"""Transformers, run in a process of their own that all models and threads of this one share.

Read `held.py` first: all that an embedder or a reranker sees of it. Then, on the way of a text:

    graph.py     which model is meant, as both processes name it
    runner.py    this side: one thread that says what the worker does next
    requests.py  what callers wait for, and how it is cut into slices
    process.py   the worker seen from here: its pipes, its watch, its end
    worker.py    the other side: answers one frame at a time
    session.py   one model in there, run by onnxruntime
"""
