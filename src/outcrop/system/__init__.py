"""What the machine offers, and what keeps work within time, memory and its owner's files."""
