"""Answers judged by label: which pages and sentences answer a question, and what became of it."""
