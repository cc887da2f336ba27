"""What cells have put into libraries: by assigning, by calling a function of theirs, by registering."""
