"""What a claim changes of what its source says: a denial, an opposite, a name, a condition, an order, a promise."""
