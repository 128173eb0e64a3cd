"""A job queue and what belongs round it, to be read line by line: standard library only, no web in it."""
