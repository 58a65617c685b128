"""Moderation providers: each judges a user's message on the way in and answers with a `ModerationResult`."""
