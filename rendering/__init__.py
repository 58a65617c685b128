"""Text for people and models, written from values. Makes no decisions."""
