"""A simulated Triton: many servers in one process, each with its own gRPC, HTTP and metrics port.

It speaks the real wire with tritonclient's own messages, reads the same repositories, says the real one's words,
and is held by the same contract tests (tests/apps/serving). No server has a thread of its own.
"""
