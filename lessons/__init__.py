"""The lesson: the reference implementation, its recorded runs and one folder for each section."""
