"""Makes the labelled drafts: good ones from the frozen passages, faulty ones by one recorded edit each.

Everything is drawn from one seed, so that making twice gives the same bytes.
"""
