"""Embedding models that run in this process, without a server.

LocalEmbedder    any of them, as an embedder
use_model        the one that ships as a package: Universal Sentence Encoder, multilingual, version 3
"""
