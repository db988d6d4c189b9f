"""Text in, tokens out; decisions in, masked text out. Offsets are code points throughout."""
