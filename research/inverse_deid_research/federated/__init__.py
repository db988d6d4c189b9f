"""Training together without pooling: the study of Festag and Spreckelsen, and common trainings of real sites.

`settings`, `weights` and `messages` need no TensorFlow. `network` trains an epoch at one site, `methods`
combine epochs, `study` and `tables` compare the methods, `attacks` and `documents` serve the study.
`server` and `site` train over `messages`. Only the folder `flower` knows Flower.
"""
