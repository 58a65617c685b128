"""What may not be said: secrets, personal data, foreign links, and how their places are masked."""
