"""From annotated documents to a model folder: splits, augmentation, training, calibration.

Together with `assemble` the only package that knows both the rules and the network.
"""
