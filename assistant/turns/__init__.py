"""Turns: run one at a time per conversation, reported as events, stored in tables, shown in two views."""
