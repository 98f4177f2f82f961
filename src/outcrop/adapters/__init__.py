"""How do other libraries ask? One module for each, which is imported by those who have that library."""
