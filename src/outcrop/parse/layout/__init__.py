"""What the places of words on the pages of a PDF tell: tables, columns, headings, and what every page repeats."""
