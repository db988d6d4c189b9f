"""Masking on a Ray cluster: partitions of large inputs, one output file each (extra `scale`).

Only addresses, offsets and counts go through Ray. Narratives are read, masked and written inside the
workers, and never reach Ray's object store, its spill files, its logs or its dashboard.
"""
