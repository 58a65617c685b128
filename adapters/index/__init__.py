"""Storage and search of passages, by words and by meaning: in this process (`embedded`) or on a server (`remote`)."""
