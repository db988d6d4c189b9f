"""Training together without pooling: the study of Festag and Spreckelsen, and common trainings of real sites.

`settings`, `weights`, `selective` and `rounds` need numpy alone. `local_training` trains an epoch at one
site, `methods` combine epochs, `study`, `runs` and `tables` compare the methods. `server`, `site` and
`file_exchange` train over `messages`. Only the folder `flower` knows Flower.
"""
