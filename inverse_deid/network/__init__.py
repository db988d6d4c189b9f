"""The network: encoding, training in Keras, export to ONNX, scoring with ONNX Runtime."""
