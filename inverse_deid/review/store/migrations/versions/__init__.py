"""One module per version of the tables; see `inverse_deid.review.store.migrations`."""
