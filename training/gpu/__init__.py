"""What needs torch and a GPU: the encoders, the static model, the reranker, and how they are judged."""
