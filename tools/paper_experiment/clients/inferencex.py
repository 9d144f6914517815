"""InferenceX's client, a copy of an old benchmark_serving.py of vLLM that lives in its repository alone."""

from ..client import Client

CLIENT = Client(
    name="inferencex", title="InferenceX bench_serving", environment=None,
    missing="in no registry: a script of its own repository, an earlier vLLM bench serve with the same single asyncio process",
)
