"""OUTSIDE, for people: what the analyst knows, drawn in one house style.

Sees: fits, paths and plans; the library that draws is an extra, imported when a picture is asked for.
Never: rows; a legend over data; a colour that colour blindness takes away.
Hands on: figures, which the report shows too.
"""
