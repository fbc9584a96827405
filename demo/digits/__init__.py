"""The demo's model: handwritten digits, 8 x 8 pixels, trained here and served by Triton."""
