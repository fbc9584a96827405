"""Classifies 8 x 8 images of digits: a small neural network in numpy.

`weights.npz` beside this file holds `w0, b0, w1, b1, ...`, one pair for each layer, and
`delay_ms`: how long one batch waits for what a real model would ask another service for.
"""

import time
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils

PIXELS, LARGEST_PIXEL = 64, 16.0


class TritonPythonModel:
    """One instance in one Triton."""

    def initialize(self, args):
        """Read the weights and refuse those of another model."""
        folder = Path(args["model_repository"]) / args["model_version"]
        weights = np.load(folder / "weights.npz")
        depth = sum(name.startswith("w") for name in weights.files)
        self.layers = [(weights[f"w{n}"], weights[f"b{n}"]) for n in range(depth)]
        self.delay_s = float(weights["delay_ms"]) / 1000
        taken = self.layers[0][0].shape[0]
        if taken != PIXELS:
            raise ValueError(
                f"weights.npz: the first layer takes {taken} features, the input 'pixels' has {PIXELS}; "
                f"these are the weights of a model for {round(taken**0.5)} x {round(taken**0.5)} images"
            )

    def execute(self, requests):
        """One pass over all requests of a batch, pixels float32 [batch, 64], values in 0..16."""
        inputs = [pb_utils.get_input_tensor_by_name(request, "pixels").as_numpy() for request in requests]
        probabilities = self._classify(np.concatenate(inputs))
        time.sleep(self.delay_s)
        ends = np.cumsum([len(each) for each in inputs])
        return [self._answer(share) for share in np.split(probabilities, ends[:-1])]

    def _classify(self, pixels):
        """Probabilities, float32 [batch, 10]."""
        values = pixels / LARGEST_PIXEL
        for number, (weight, bias) in enumerate(self.layers):
            values = values @ weight + bias
            if number < len(self.layers) - 1:
                values = np.maximum(values, 0)
        powers = np.exp(values - values.max(axis=1, keepdims=True))
        return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)

    def _answer(self, probabilities):
        label = probabilities.argmax(axis=1, keepdims=True).astype(np.int64)
        return pb_utils.InferenceResponse(
            output_tensors=[pb_utils.Tensor("label", label), pb_utils.Tensor("probabilities", probabilities)]
        )
