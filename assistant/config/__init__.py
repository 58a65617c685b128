"""Configuration of a deployment: environment, profile, run settings."""
