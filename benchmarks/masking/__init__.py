"""What masking secrets costs, and what it finds."""
