"""Start and stop each real part of the stack as a child process."""
