"""Make a smaller network out of a trained one, to be trained further.

Usage: python scripts/compress_network.py MODEL OUT --config FILE

The configuration names the training documents and the new sizes (`narrow_units`, `token_units`). Then:

    inverse-deid fine-tune --config FILE --model OUT --out SMALL
"""

from __future__ import annotations

import argparse
from pathlib import Path

from inverse_deid.network.folder import read_model, refuse_other_folder, write_model
from inverse_deid.training.compression import compress_network
from inverse_deid.training.config import read_run_config
from inverse_deid.training.documents import read_documents


def main() -> None:
    """Read, compress and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--config", type=Path, required=True)
    arguments = parser.parse_args()
    refuse_other_folder(arguments.out)
    config = read_run_config(arguments.config)
    docs = read_documents(config, print).gold
    write_model(compress_network(read_model(arguments.model), config.network, docs), arguments.out)
    print(f"written to {arguments.out}. Train it now with inverse-deid fine-tune")


if __name__ == "__main__":
    main()
