"""Text in two languages: cleaning, tokens, stems, sentences, claims, and the values that a claim can get wrong.

Pure functions over text. Knows nothing of requests, evidence or the graph.
"""
