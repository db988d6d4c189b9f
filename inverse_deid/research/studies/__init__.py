"""Experiments: the thesis's tables on other data, the network alone, ablations.

`epoch_store`, `variants` and `variant_training` train what `ablations` compares;
`thesis_training` and `thesis_tables` are put together by `thesis`; `analysed` scores
documents, `measures` and `decided` measure; `tables`, `provenance` and `published`
make the reports. Reports, logs and stored scores hold numbers only; the epochs of
`epoch_store` hold training text in pieces and stay on the machine.
"""
