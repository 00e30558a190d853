"""How LocalStack finds our executor (LAMBDA_RUNTIME_EXECUTOR=node): the entry point in node_executor-*.dist-info names this file."""

from localstack.services.lambda_ import runtimes
from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin

# LocalStack 4.8 does not know it yet; the handlers run on the Node that LAMBDA_NODE names, whatever the name says.
NEWER = "nodejs24.x"


class NodePlugin(RuntimeExecutorPlugin):
    name = "node"

    def load(self, *args, **kwargs):
        if NEWER not in runtimes.ALL_RUNTIMES:
            runtimes.ALL_RUNTIMES.append(NEWER)
        from node_executor.executor import NodeExecutor

        return NodeExecutor
