"""LocalStack in this process, which ends when the one that started it does: nothing may be left behind on a port."""

import ctypes
import os
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1

ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
if os.getppid() == 1:
    sys.exit("the process that started this one is gone")
runpy.run_module("localstack.runtime.main", run_name="__main__", alter_sys=True)
