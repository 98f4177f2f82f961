"""Sources of many packages to pairs of a query and the text that answers it; run as `python -m training.pairs`."""
