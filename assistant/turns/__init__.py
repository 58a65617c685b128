"""Turns: run one at a time per conversation, told as events, kept in tables, shown in two views."""
