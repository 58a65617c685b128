"""Speed, storage and cost, as ratios to a baseline of the same run."""
