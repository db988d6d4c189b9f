"""Encoders of a few weights: their graph looks at one feature and at nothing else."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from inverse_deid.network.config import class_names
from inverse_deid.network.doubt import Doubt
from inverse_deid.network.second_reader import EncoderParts

PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rash", "##es", ".", "mr", "-")
CLASSES = class_names("hyper")


def graph_of_one_feature(safe_if_set: float, safe_otherwise: float, n_outputs: int = len(CLASSES)) -> bytes:
    """Return a graph whose `p_safe` depends on whether the only feature is 1; the rest goes to the second class."""
    logits = np.zeros((2, n_outputs), np.float32)
    for row, p_safe in enumerate((safe_otherwise, safe_if_set)):
        logits[row] = -30
        logits[row, :2] = np.log([p_safe, 1 - p_safe])
    constants = [
        numpy_helper.from_array(logits[:1], "otherwise"),
        numpy_helper.from_array(logits[1:] - logits[:1], "change"),
    ]
    nodes = [
        helper.make_node("MatMul", ["features", "change"], ["moved"]),
        helper.make_node("Add", ["moved", "otherwise"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["probabilities"], axis=-1),
    ]
    kinds = {
        "pieces": ["batch", "length"],
        "lengths": ["batch"],
        "owners": ["batch", "length"],
        "first": ["n"],
        "shapes": ["n"],
    }
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name, shape in kinds.items()]
    inputs.append(helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 1]))
    output = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", n_outputs])
    graph = helper.make_graph(nodes, "tiny", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def tiny_encoder(feature: str = "has-capital-beginning", **changes: object) -> EncoderParts:
    """Return an encoder that finds a word identifying if the feature is 1, and safe otherwise."""
    values = {
        "class_names": CLASSES,
        "feature_names": (feature,),
        "pieces": PIECES,
        "graph": graph_of_one_feature(safe_if_set=0.01, safe_otherwise=0.99),
        "doubtful": {"balanced": Doubt(0.3, 0.995, 0.995, 0.995)},
    }
    return EncoderParts(**{**values, **changes})  # type: ignore[arg-type]
