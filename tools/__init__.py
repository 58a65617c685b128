"""What the project is made with and a user does not need: it is not in the wheel."""
