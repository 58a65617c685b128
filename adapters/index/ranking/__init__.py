"""Rankers beside the ranking by words: vectors of meaning, and models that read query and passage.

    Embedder      texts -> vectors: `HttpEmbedder` over `POST /v1/embeddings`, `LocalEmbedder` in this process
    fill          makes the vectors that the system of record lacks
    combined      one ranking of what words and meaning say of one query
    Reranker      scores for passages, over `POST /v1/rerank` or TEI's `POST /rerank`
    RerankedSource   an evidence source whose best items a reranker puts in order

Each model is asked only in the languages that it is declared for: an English-only embedding under fusion takes
Russian retrieval from .954 to .607 (docs/evaluation.md). What fails leaves the ranking by words as it is, and says so.
"""
