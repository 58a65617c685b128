"""Moderation providers: each judges an incoming message of a user and returns a `ModerationResult`."""
