"""The operator's review of turns: what all callers asked, how it ended, and what was done about it."""
