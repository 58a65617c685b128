"""Embedding models that run in this process, without a server.

LocalEmbedder    any of these models, as an embedder
use_model        Universal Sentence Encoder, multilingual, version 3: small and quick
e5_model         multilingual-e5-small: better at documents, and ten times slower
folder_model     a model in a folder that the user names: an ONNX graph, its tokenizer and a manifest
"""
