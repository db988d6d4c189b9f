"""Masking on a Ray cluster: partitions of large inputs, one output file each (extra `scale`).

Only addresses, offsets and counts go through Ray. The narratives are read, masked and
written inside the workers, so none of them stands in Ray's object store, its spill files,
its logs or its dashboard.
"""
