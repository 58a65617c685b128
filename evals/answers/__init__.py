"""Answers judged by labels, which name the pages and sentences that answer each question."""
