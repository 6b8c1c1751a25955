"""Calls that wait for a free thread get one as long as there may be more."""

import threading

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads


def test_as_many_calls_as_threads_run_at_once() -> None:
    for _ in range(20):  # the order in which threads wake up differs
        workers = WorkerThreads("test", size=5)
        together = threading.Barrier(5)
        calls = [workers.submit(together.wait, 10) for _ in range(5)]
        assert sorted(call.result(timeout=60) for call in calls) == [0, 1, 2, 3, 4]
        workers.close()
