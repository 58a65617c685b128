"""What a deployment is set up with: environment, profile, run settings."""
