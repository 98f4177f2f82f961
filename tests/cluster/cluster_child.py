"""A Ray cluster of two nodes on this machine, real processes: `python -m tests.cluster.cluster_child`.

The first claims to have a GPU. It says its address, and kills the second node when it reads a line; the end of stdin
ends it all.
"""

from __future__ import annotations

import sys
from typing import Any

from ray.cluster_utils import Cluster

NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
# A node that is gone is noticed within ten seconds. Fewer would take a node for dead that a busy machine made late.
NOTICE = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 20,
}


def main() -> None:
    head = {**NODE, "num_gpus": 1, "include_dashboard": False, "_system_config": NOTICE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    second = cluster.add_node(**NODE)
    cluster.wait_for_nodes(timeout=600)
    print(cluster.address, flush=True)
    for _ in sys.stdin:
        cluster.remove_node(second, allow_graceful=False)
        print("killed", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
