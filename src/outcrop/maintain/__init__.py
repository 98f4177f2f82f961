"""What keeps an index right over the years: health, copies, comparisons."""
