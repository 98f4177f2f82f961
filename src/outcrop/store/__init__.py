"""Keep documents, chunks, vectors and keywords, and give them back."""
