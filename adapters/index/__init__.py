"""Where passages are kept and searched: in this process (`embedded`), on a server (`remote`), by words and by meaning."""
