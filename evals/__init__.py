"""Evaluation of the product from outside: cases as data, scorers and a runner."""
