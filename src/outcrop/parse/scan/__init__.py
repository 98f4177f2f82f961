"""Pages without text, read by their picture.

sheet.py      a page of a PDF or a picture as pixels
finding.py    where the lines are: components of the detector's map
letters.py    what a line says, and where each of its words is
order.py      lines in the order in which people read them
models.py     both models together, and pages that lie on their side
tesseract.py  the same from the system's Tesseract
worker.py     the process in which all this runs; reading.py is its parent's side
"""
