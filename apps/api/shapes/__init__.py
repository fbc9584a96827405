"""What goes over the wire, noun by noun. Explicit: a new column is not shown before it is named here."""
