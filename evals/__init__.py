"""Cases as data, scorers and a runner: judges the product from outside."""
