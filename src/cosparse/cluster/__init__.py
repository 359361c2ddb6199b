"""Past one machine, on any Dask cluster: learn from patches that fit no machine, repair pictures larger than memory, repair
very many pictures. Needs the extra `cluster`: pip install 'cosparse[cluster]'.

    from cosparse import cluster

    with cluster.connect("tcp://10.0.0.5:8786") as client:       # connect() is a local cluster
        cluster.repair_picture("denoise", "scan.zarr", "clean.zarr", client=client)
"""

from cosparse.cluster.connection import check_workers, connect
from cosparse.cluster.picture import TileReport, repair_picture

__all__ = ["TileReport", "check_workers", "connect", "repair_picture"]
