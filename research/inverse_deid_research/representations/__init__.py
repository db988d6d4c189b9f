"""Training data shared without identifiers: automatic pseudonymisation and private representations.

Source: Friedrich, Köhn, Wiedemann and Biemann 2019, "Adversarial learning of
privacy-preserving text representations for de-identification of medical records" (ACL).
"""
