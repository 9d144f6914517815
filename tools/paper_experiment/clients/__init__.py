"""The clients of the experiment, in the order of the tables."""

from . import aiperf, genai_perf, guidellm, inference_perf, inferencex, k6, lowrho, oha, sglang, vllm

ALL = {
    client.name: client
    for client in (
        vllm.CLIENT, vllm.RUST, sglang.CLIENT, sglang.RUST, aiperf.CLIENT, genai_perf.CLIENT, guidellm.CLIENT,
        inference_perf.CLIENT, inferencex.CLIENT, k6.CLIENT, oha.CLIENT, lowrho.CLIENT,
    )
}
