"""What all parts of the stack have in common."""

from demo.parts.process import Child


class Part:
    """One process of the stack; `name` is what people read.

    A part says how to make its process (`make_child`) and when it answers (`is_ready`).
    """

    name: str
    start_timeout_s = 30.0
    stop_timeout_s = 10.0
    child: Child | None = None

    def make_child(self) -> Child:
        """The process, not yet started; called at each launch."""
        raise NotImplementedError

    def is_ready(self) -> bool:
        """True when it answers."""
        raise NotImplementedError

    def launch(self) -> None:
        """Start the process and return at once."""
        self.child = self.make_child()
        self.child.start()

    def wait_ready(self, *, timeout_s: float | None = None) -> None:
        """Wait until it answers; PartDied or PartNotReady with the log's last lines."""
        self.running_child.wait_until(self.is_ready, timeout_s=timeout_s or self.start_timeout_s)

    def start(self) -> None:
        """Launch it and wait until it answers."""
        self.launch()
        self.wait_ready()

    @property
    def running_child(self) -> Child:
        """The process that was launched last."""
        if self.child is None:
            raise RuntimeError(f"{self.name} was never started")
        return self.child

    @property
    def is_running(self) -> bool:
        """True while its process lives, whether it answers or not."""
        return self.child is not None and self.child.is_running

    def stop(self) -> None:
        """SIGTERM, then SIGKILL; nothing is left when this returns."""
        if self.child is not None:
            self.child.stop(timeout_s=self.stop_timeout_s)

    def kill(self) -> None:
        """SIGKILL, descendants too."""
        self.running_child.kill()

    def pause(self) -> None:
        """Hang it: connections stay open and nothing answers."""
        self.running_child.pause()

    def resume(self) -> None:
        """Let it go on after pause()."""
        self.running_child.resume()
