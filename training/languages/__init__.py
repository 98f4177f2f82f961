"""Makes the dictionary by which the static model reads other languages: `python -m training.languages`."""
