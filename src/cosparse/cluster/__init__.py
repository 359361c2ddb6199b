"""Past one machine, on any Dask cluster: learn from patches that fit no machine, repair pictures larger than memory,
repair very many pictures. Needs the extra `cluster`: pip install 'cosparse[cluster]'.

    from cosparse import cluster

    with cluster.connect("tcp://10.0.0.5:8786") as client:       # connect() is a local cluster
        cluster.repair_picture("denoise", "scan.zarr", "clean.zarr", client=client)
        patches = cluster.sample_patches("photographs/", count=10_000_000, client=client)
        operator = cosparse.learn_operator(patches, checkpoint="run.ckpt").operator
"""

from cosparse.cluster.connection import check_workers, connect
from cosparse.cluster.large_picture import TileReport, repair_picture
from cosparse.cluster.many_files import FileReport, each, repair_files
from cosparse.cluster.worker_map import workers
from cosparse.cluster.worker_patches import ClusterPatches, sample_patches

__all__ = [
    "ClusterPatches",
    "FileReport",
    "TileReport",
    "check_workers",
    "connect",
    "each",
    "repair_files",
    "repair_picture",
    "sample_patches",
    "workers",
]
