"""Tables of questions, answered row by row: xlsx, csv and JSON lines in and out.

tables      files as streams of rows columns     which column is what, in and out subjects    what of a subject and a
description is asked html        the HTML of a ticket as text run         the run itself, which goes on where a killed
one stopped
"""
