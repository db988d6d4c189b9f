"""The commands: parse, call one function, print, exit with a status."""
