"""One base, one change at a time, the same epochs for all: what does each part bring?"""
