"""Changes between a claim and its source: a denial, an opposite, a name, a condition, an order, a promise."""
