"""Tables of questions, answered row by row: xlsx, csv and JSON lines in and out.

tables      files as streams of rows
columns     the mapping of columns, in and out
subjects    the choice of subject, description or both as the question
html        conversion of a ticket's HTML to text
run         the run itself, which continues a killed one
"""
