"""Figures of a text (numbers, amounts, dates, rates and versions), and a claim's figures that a passage lacks."""
