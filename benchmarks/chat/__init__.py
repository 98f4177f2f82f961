"""Chat with a real model, judged by what its answers cite."""
