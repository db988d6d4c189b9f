"""Where the network runs: on the CPU, or on a GPU if one can be used."""

import importlib.metadata

import numpy as np
import onnxruntime
import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.network.scorer import open_sessions

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
TEXT = "Mr. Okonkwo, a 43-year-old baker from Millbrook, took 40 mg on 12/03/2019 and had a rash. "


class FakeSession:
    def __init__(self, providers):
        self.providers = providers

    def get_providers(self):
        return self.providers


class FakeRuntime:
    """An onnxruntime built for some devices, of which some can be used."""

    def __init__(self, built_for, usable):
        self.built_for, self.usable, self.opened = built_for, usable, []

    def get_available_providers(self):
        return self.built_for

    def InferenceSession(self, graph, options, *, providers, disabled_optimizers):
        self.opened.append((graph, tuple(providers)))
        return FakeSession([one for one in providers if one in self.usable])


@pytest.mark.parametrize(
    ("device", "built_for", "usable", "used"),
    [
        ("cpu", [CUDA, CPU], [CUDA, CPU], "cpu"),
        ("auto", [CPU], [CPU], "cpu"),
        ("auto", [CUDA, CPU], [CPU], "cpu"),
        ("auto", [CUDA, CPU], [CUDA, CPU], "cuda"),
        ("cuda", [CUDA, CPU], [CUDA, CPU], "cuda"),
    ],
)
def test_the_device_that_is_used(device, built_for, usable, used):
    runtime = FakeRuntime(built_for, usable)
    found, sessions = open_sessions([b"characters", b"tokens"], device, runtime)
    providers = [CUDA, CPU] if used == "cuda" else [CPU]
    assert found == used
    assert [session.get_providers() for session in sessions] == [providers, providers]
    assert runtime.opened[-2:] == [(b"characters", tuple(providers)), (b"tokens", tuple(providers))]


def test_no_mix_of_devices_if_the_second_graph_cannot_use_the_gpu():
    class Fickle(FakeRuntime):
        def InferenceSession(self, graph, options, *, providers, disabled_optimizers):
            self.usable = [CPU] if graph == b"tokens" else [CUDA, CPU]
            return super().InferenceSession(
                graph, options, providers=providers, disabled_optimizers=disabled_optimizers
            )

    found, sessions = open_sessions([b"characters", b"tokens"], "auto", Fickle([CUDA, CPU], []))
    assert (found, [session.get_providers() for session in sessions]) == ("cpu", [[CPU], [CPU]])


def test_a_gpu_that_cannot_be_used_is_an_error():
    with pytest.raises(ConfigurationError, match="nvidia-smi"):
        open_sessions([b"graph"], "cuda", FakeRuntime([CUDA, CPU], [CPU]))


@pytest.mark.parametrize(
    ("has_gpu_package", "said"), [(False, "pip install onnxruntime-gpu"), (True, "overwrite each other")]
)
def test_a_package_for_the_cpu_is_an_error(has_gpu_package, said, monkeypatch):
    def version(name):
        assert name == "onnxruntime-gpu"
        if not has_gpu_package:
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.23.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(ConfigurationError, match=said):
        open_sessions([b"graph"], "cuda", FakeRuntime([CPU], [CPU]))


def test_reports_name_the_device_and_results_have_the_same_identity():
    plain, auto = (build_deidentifier(MaskingSettings(device=device)) for device in ("cpu", "auto"))
    assert plain.made_of["device"] == "cpu"
    assert auto.made_of["device"] in ("cpu", "cuda")
    assert plain.fingerprint == auto.fingerprint
    assert build_deidentifier(MaskingSettings(rules_only=True)).made_of["device"] is None


@pytest.mark.gpu
@pytest.mark.skipif(
    CUDA not in onnxruntime.get_available_providers(), reason="needs onnxruntime-gpu and a GPU"
)
def test_a_gpu_decides_as_the_cpu():
    docs = [Document(str(n), TEXT * n) for n in (1, 2, 7, 40)]
    on_cpu, on_gpu = (
        build_deidentifier(MaskingSettings(device=device)).mask_many(docs) for device in ("cpu", "cuda")
    )
    for one, other in zip(on_cpu, on_gpu, strict=True):
        assert one.decisions.keep.tolist() == other.decisions.keep.tolist()
        assert np.allclose(one.decisions.p_safe, other.decisions.p_safe, atol=1e-3)
