"""What an index costs as it grows."""
