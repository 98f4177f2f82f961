"""What services give people of their own: conversations, issues and notes, told by what a data file holds."""
