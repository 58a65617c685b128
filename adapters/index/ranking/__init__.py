"""Rankers in addition to the ranking by words: embeddings, and models that read query and passage.

    Embedder      texts -> vectors: `HttpEmbedder` over `POST /v1/embeddings`, `LocalEmbedder` in this process
    fill          makes the vectors that the system of record lacks
    combined      one ranking of a query by words and meaning
    Reranker      scores for passages, over `POST /v1/rerank` or TEI's `POST /rerank`
    RerankedSource   an evidence source with its best items ordered by a reranker

Each model is asked only in its declared languages: an English-only embedding under fusion lowers Russian retrieval
from .954 to .607 (docs/evaluation.md). If a model fails, the ranking by words is kept, and the trace says so.
"""
