"""The reference: one module for each interface, which asks the code itself what it has."""
