"""Models of transformers, and adapters of peft, small and untrained: run with those installed, by `test_real_models`.

Each row's gradient is compared with that of the row alone in float64, the probe accepts the model, it trains by
`learn.Private`, and compiled it gives the same bits.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import peft
import pytest
import torch
import transformers as hub
from torch import Tensor, nn

import discreet as dp
from discreet import learn
from discreet.errors import ParameterError
from discreet.learn.gradients import Column, Exact, Fixed, Float, UnitGradients, probe
from learn.gradients.reference import curved, distance, sums

WORDS, TIMES, NEAR = 23, 6, 1e-5
STILL: dict[str, Any] = {"attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.0}
SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


class Scores(nn.Module):
    """What a model says of a row: its scores before any loss."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        if getattr(self.model.config, "is_encoder_decoder", False):
            return self.model(input_ids=x, decoder_input_ids=x.flip(1)).logits
        return self.model(x).logits


def bert() -> nn.Module:
    config = hub.BertConfig(vocab_size=WORDS, max_position_embeddings=16, **SMALL, **STILL)
    return hub.BertForSequenceClassification(config)


def distilbert() -> nn.Module:
    sizes = {"vocab_size": WORDS, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
    still = {"dropout": 0.0, "attention_dropout": 0.0, "seq_classif_dropout": 0.0}
    return hub.DistilBertForSequenceClassification(hub.DistilBertConfig(max_position_embeddings=16, **sizes, **still))


def gpt2() -> nn.Module:
    sizes = {"vocab_size": WORDS, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 16}
    still = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "use_cache": False}
    return hub.GPT2LMHeadModel(hub.GPT2Config(bos_token_id=1, eos_token_id=1, **sizes, **still))


def llama() -> nn.Module:
    config = hub.LlamaConfig(vocab_size=WORDS, num_key_value_heads=1, use_cache=False, **SMALL)
    return hub.LlamaForCausalLM(config)


def vit() -> nn.Module:
    return hub.ViTForImageClassification(hub.ViTConfig(image_size=8, patch_size=4, num_channels=1, **SMALL, **STILL))


def t5() -> nn.Module:
    sizes = {"vocab_size": WORDS, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    return hub.T5ForConditionalGeneration(hub.T5Config(dropout_rate=0.0, use_cache=False, **sizes))


def t5_without_places() -> nn.Module:
    model = t5()
    for name, parameter in model.named_parameters():
        parameter.requires_grad = "relative_attention_bias" not in name
    return model


def adapted(model: Callable[[], nn.Module], targets: list[str] | str, **options: Any) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        config = peft.LoraConfig(r=2, lora_alpha=4, init_lora_weights=False, target_modules=targets, **options)
        return peft.get_peft_model(model(), config)

    return build


MODELS: dict[str, Callable[[], nn.Module]] = {
    "BERT": bert,
    "DistilBERT": distilbert,
    "GPT-2": gpt2,
    "Llama": llama,
    "ViT": vit,
    "T5, relative positions frozen": t5_without_places,
    "BERT, LoRA": adapted(bert, ["query", "value"], task_type="SEQ_CLS"),
    "DistilBERT, LoRA": adapted(distilbert, ["q_lin", "v_lin"], task_type="SEQ_CLS"),
    "GPT-2, LoRA": adapted(gpt2, ["c_attn"], fan_in_fan_out=True),
    "GPT-2, LoRA of words": adapted(gpt2, ["c_attn", "wte"]),
    "Llama, LoRA": adapted(llama, "all-linear"),
    "Llama, DoRA": adapted(llama, "all-linear", use_dora=True),
    "Llama, LoRA, head trained": adapted(llama, ["q_proj", "v_proj"], use_rslora=True, modules_to_save=["lm_head"]),
    "ViT, LoRA": adapted(vit, ["query", "value", "q_proj", "v_proj"]),
    "T5, LoRA": adapted(t5, ["q", "v"]),
}


def rows(name: str, count: int) -> Tensor:
    return torch.randn(count, 1, 8, 8) if name.startswith("ViT") else torch.randint(0, WORDS, (count, TIMES))


def check(name: str) -> str:
    torch.manual_seed(1)
    model, x = Scores(MODELS[name]()), rows(name, 4)
    exact, real = (distance(model, x, arithmetic) for arithmetic in (Exact(2**44), Float()))
    assert max(exact, real) <= NEAR, (name, exact, real)
    column = Column((1, 8, 8)) if name.startswith("ViT") else Column((TIMES,), values=WORDS)
    probe(model, lambda batch: curved(model(batch)), [column], 32)
    compiled = torch.compile(copy.deepcopy(model), backend="eager")
    seen = [sums(each, x, UnitGradients(each, Fixed())) for each in (model, compiled)]
    assert torch.equal(*seen), name
    train(model, rows(name, 40))
    return f"{name:32} exact {exact:.1e} float {real:.1e}"


def train(model: nn.Module, x: Tensor) -> None:
    before = [each.detach().clone() for each in model.parameters()]
    trained = [each for each in model.parameters() if each.requires_grad]
    data = learn.Tensors(x, torch.zeros(len(x), dtype=torch.int64))
    private = learn.Private(
        model,
        torch.optim.SGD(trained, lr=0.1),
        data,
        spend=dp.approx(3, "1e-6"),
        steps=2,
        rate="0.5",
        about=40,
        places=32,
    )
    for batch in private.batches():
        private.step(curved(model(batch.x)))
    for old, new in zip(before, model.parameters(), strict=True):
        assert torch.equal(old, new) != new.requires_grad


def refused() -> str:
    model = Scores(t5())
    with pytest.raises(ParameterError, match="relative_attention_bias") as error:
        probe(model, lambda batch: curved(model(batch)), [Column((TIMES,), values=WORDS)], 32)
    return str(error.value)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for model_name in MODELS:
        print(check(model_name), flush=True)
    print(refused())
