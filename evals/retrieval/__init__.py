"""How well search finds pages: labelled questions, standard measures, and the product's own search under test."""
