"""Training together without pooling: the study of Festag and Spreckelsen, and its use by real sites.

`weights`, `selection`, `parameter_server`, `updates` are numpy alone; `local_training`
is one epoch at one site; `methods` puts them together. Nothing of these knows Flower.
"""
