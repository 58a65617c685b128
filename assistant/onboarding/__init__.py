"""First steps with documents of one's own: a look over the folder, and the profile that follows from it."""
