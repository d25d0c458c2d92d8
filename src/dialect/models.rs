//! Which models were taught each row of the table of presets.

use super::Str;

/// The models of the row of this name; empty where it is for any that is told how.
pub fn models(name: &str) -> Str {
    let row = MODELS.iter().find(|(row, _)| *row == name);
    row.map_or("", |(_, models)| models).into()
}

const MODELS: &[(&str, &str)] = &[
    ("hermes", "Qwen2.5, Qwen3, Hermes 2 and later, SmolLM3"),
    ("reka-edge", "Reka Edge"),
    ("ernie45", "ERNIE 4.5"),
    ("granite4", "Granite 4"),
    ("longcat", "LongCat"),
    ("internlm2", "InternLM 2"),
    ("granite-20b-fc", "Granite 20B Function Calling"),
    ("gigachat3", "GigaChat 3"),
    ("xlam", "xLAM"),
    ("llama3-json", "Llama 3.1, 3.2 and 3.3"),
    ("jamba", "Jamba 1.5"),
    ("hunyuan", "Hunyuan A13B"),
    ("apriel", "Apriel"),
    ("nemotron-deci", "Llama-Nemotron"),
    ("granite", "Granite 3"),
    ("phi4", "Phi-4-mini"),
    ("firefunction-v2", "FireFunction v2"),
    ("mistral", "Mistral 7B v0.3, Mistral Nemo"),
    ("mistral-v11", "Mistral Small 3.2, Magistral, Devstral, Ministral 3"),
    ("cohere", "Command R7B, Command A"),
    ("deepseek-v3", "DeepSeek V3 and R1"),
    ("deepseek-v31", "DeepSeek V3.1"),
    ("deepseek-v32-dsml", "DeepSeek V3.2"),
    ("deepseek-v4-dsml", "DeepSeek V4"),
    ("deepseek-v41-dsml", "DeepSeek V4.1"),
    ("kimi-k2", "Kimi K2, Kimi K2 Thinking"),
    ("kimi-k3", "Kimi K3"),
    ("plamo3", "PLaMo 3"),
    ("functionary-v31", "Functionary 3.1"),
    ("gemma4", "Gemma 4"),
    ("functiongemma", "FunctionGemma"),
    ("qwen3-coder", "Qwen3-Coder, Qwen3.5, Nemotron 3"),
    ("step3", "Step 3"),
    ("step3p5", "Step 3.5"),
    ("step5", "Step 5"),
    ("granite-thinking", "Granite Thinking"),
    ("seed-oss", "Seed-OSS"),
    ("mimo", "MiMo"),
    ("glm45", "GLM-4.5, GLM-4.6"),
    ("glm47", "GLM-4.7, GLM-5"),
    ("poolside-laguna", "Laguna"),
    ("ling3", "Ling 3"),
    ("spark25", "Spark 2.5"),
    ("hunyuan-v3", "Hunyuan 3"),
    ("hunyuan-v4", "Hunyuan 4"),
    ("k2-horizon", "K2 Horizon"),
    ("dots", "dots"),
    ("minimax-m2", "MiniMax M2"),
    ("minimax-m3", "MiniMax M3"),
    ("anthropic", "Claude 2.1"),
    ("harmony", "gpt-oss"),
    ("beam-rfl", "Beam"),
    ("muse-glimmer", "Muse Glimmer"),
    ("muse", "Muse"),
    ("inkling", "Inkling"),
    ("lfm2", "LFM2"),
    ("pythonic", "Llama 3.2"),
    ("llama4-pythonic", "Llama 4"),
    ("olmo3", "Olmo 3"),
];

#[cfg(test)]
mod tests {
    use super::super::presets::{names, preset};
    use super::*;

    #[test]
    fn what_has_models_is_a_row() {
        for (name, models) in MODELS {
            let row = preset(name).unwrap_or_else(|| panic!("{name} is no row"));
            assert_eq!(row.models, *models);
        }
    }

    #[test]
    fn only_rows_for_any_model_have_none() {
        let without: Vec<_> = names().filter(|name| models(name).is_empty()).collect();
        let for_any = ["cogency", "forge-json", "forge-xml", "json-plain", "react-json", "react"];
        assert_eq!(without, for_any);
    }
}
