"""Words: turns values into text for people and models. Chooses nothing."""
