"""Figures of a text: numbers, amounts, dates, rates and versions, and which of a claim's a passage does not have."""
