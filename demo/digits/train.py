"""Train five versions of `digits` and write them as archives, with held-out images.

Runs in Triton's environment, where scikit-learn is: `python train.py FOLDER`. The seed is
fixed, so the same environment gives the same bytes.
  1 good: logistic regression on a fifth of the training images
  2 better: a small neural network on all of them
  3 wrong: version 2 with its classes in another order, as after a mixed-up label file
  4 right but slow: version 2, and each batch waits 70 ms
  5 does not start: weights for 28 x 28 images
FOLDER gets digits-N.zip, held_out.json (images and labels nobody trained on), samples.json
(golden samples: held-out images that versions 1 and 2 both label right) and report.json.
"""

import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

SEED = 8
HERE = Path(__file__).resolve().parent
SLOW_MS = 70.0
NOTES = {
    1: "logistic regression, trained on a fifth of the images",
    2: "neural network with one hidden layer, trained on all images",
    3: "the same network, exported with a new label file",
    4: "the same network, asks the feature store for every batch",
    5: "the same network, new training pipeline",
}


def main(folder):
    """Write everything into the folder."""
    pixels, labels = load_digits(return_X_y=True)
    seen, held_out, seen_labels, held_out_labels = train_test_split(
        pixels, labels, test_size=400, random_state=SEED, stratify=labels
    )
    versions = train(seen / 16.0, seen_labels)
    report = {}
    folder.mkdir(parents=True, exist_ok=True)
    for number, weights in versions.items():
        (folder / f"digits-{number}.zip").write_bytes(archive(number, weights))
        report[number] = {"notes": NOTES[number], "held_out_accuracy": accuracy(weights, held_out, held_out_labels)}
    right = sure(versions[1], held_out, held_out_labels) & sure(versions[2], held_out, held_out_labels)
    write(folder / "held_out.json", {"images": held_out.tolist(), "labels": held_out_labels.tolist()})
    write(folder / "samples.json", golden(held_out[right], held_out_labels[right]))
    write(folder / "report.json", report)


def train(seen, labels):
    """Each version's weights; values scaled to 0..1."""
    few = len(seen) // 5
    linear = LogisticRegression(max_iter=500, random_state=SEED).fit(seen[:few], labels[:few])
    network = MLPClassifier(hidden_layer_sizes=(48,), max_iter=400, random_state=SEED).fit(seen, labels)
    good = {"w0": linear.coef_.T, "b0": linear.intercept_}
    (w0, w1), (b0, b1) = network.coefs_, network.intercepts_
    better = {"w0": w0, "b0": b0, "w1": w1, "b1": b1}
    order = np.roll(np.arange(10), 3)
    large = np.random.default_rng(SEED).normal(0, 0.1, (28 * 28, 48))
    return {
        1: {**good, "delay_ms": 0.0},
        2: {**better, "delay_ms": 0.0},
        3: {**better, "w1": w1[:, order], "b1": b1[order], "delay_ms": 0.0},
        4: {**better, "delay_ms": SLOW_MS},
        5: {**better, "w0": large, "delay_ms": 0.0},
    }


def scores(weights, images):
    """What the model computes before the softmax, float64 [n, 10]."""
    values = images / 16.0 @ weights["w0"] + weights["b0"]
    return np.maximum(values, 0) @ weights["w1"] + weights["b1"] if "w1" in weights else values


def accuracy(weights, images, labels):
    """Share of images labelled right; None where the weights do not fit the images."""
    if weights["w0"].shape[0] != images.shape[1]:
        return None
    return round(float((scores(weights, images).argmax(axis=1) == labels).mean()), 4)


def sure(weights, images, labels):
    """Which images are labelled right by a clear margin, bool [n]."""
    ranked = np.sort(scores(weights, images), axis=1)
    return (scores(weights, images).argmax(axis=1) == labels) & (ranked[:, -1] - ranked[:, -2] > 1)


def golden(images, labels):
    """One sample with an image of each digit, and three with one image."""
    first = [int(np.flatnonzero(labels == digit)[0]) for digit in range(10)]
    return [sample("zero-to-nine", images[first], labels[first])] + [
        sample(f"one-{digit}", images[[first[digit]]], labels[[first[digit]]]) for digit in (3, 5, 8)
    ]


def sample(name, images, labels):
    """Inputs and expected outputs as the REST API takes them."""
    pixels = {"name": "pixels", "datatype": "FP32", "shape": list(images.shape), "data": images.ravel().tolist()}
    label = {"name": "label", "datatype": "INT64", "shape": [len(labels), 1], "data": labels.tolist()}
    return {"name": name, "inputs": [pixels], "outputs": [{**label, "atol": 0, "rtol": 0}]}


def archive(number, weights):
    """A zip of the Triton model directory with this version in it."""
    packed = io.BytesIO()
    np.savez(packed, **{name: np.asarray(value, dtype=np.float32) for name, value in weights.items()})
    files = {
        "digits/config.pbtxt": (HERE / "config.pbtxt").read_bytes(),
        f"digits/{number}/model.py": (HERE / "model.py").read_bytes(),
        f"digits/{number}/weights.npz": packed.getvalue(),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in files.items():
            zipped.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def write(path, content):
    """Write JSON."""
    path.write_text(json.dumps(content))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
