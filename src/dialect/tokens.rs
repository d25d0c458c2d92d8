//! What the tokenizers of each row's models take for tokens: families of models, and the rows whose models are of them.
//!
//! A row's own marks are not repeated here unless the template shows them too. A token that begins others is enough for all of
//! them. A dialect for any model has the tokens of every family, since its model may be of each.

mod families;

use super::Str;
use families::{
    APERTUS, APRIEL, ARGUMENTS, CHATML, CLAUDE, COHERE, DEEPSEEK, DOTS, ERNIE, FUNCTION_GEMMA,
    FUNCTIONARY, GEMMA, GEMMA_4, GIGACHAT, GLM, GRANITE, HARMONY, HUNYUAN, INKLING, INTERNLM,
    JAMBA, K2_HORIZON, KIMI, KIMI_3, LAGUNA, LFM, LING, LLAMA_3, LLAMA_4, LONGCAT, MINICPM,
    MINIMAX, MISTRAL, MUSE, NEMOTRON, PHI, PLAMO, QWEN, REKA, ROLES, SEED, SENTENCEPIECE, SOLAR,
    SPARK, STEP, TAGS,
};

/// The tokens of the row of this name.
pub fn tokens(name: &str) -> Vec<Str> {
    let is_for_any = FOR_ANY.contains(&name);
    let families = FAMILIES.iter().filter(|family| is_for_any || family.rows.contains(&name));
    let mut tokens: Vec<&str> =
        families.flat_map(|family| family.tokens).flat_map(|part| part.iter().copied()).collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens.into_iter().map(Str::from).collect()
}

/// Dialects that any model may be told to write.
const FOR_ANY: [&str; 6] =
    ["cogency", "forge-json", "forge-xml", "json-plain", "react-json", "react"];

/// Models whose tokenizers have tokens in common, and the rows that they were taught.
struct Family {
    rows: &'static [&'static str],
    tokens: &'static [&'static [&'static str]],
}

const FAMILIES: &[Family] = &[
    Family {
        rows: &["hermes", "qwen3-coder", "mimo", "step3p5", "step5", "xlam", "apriel"],
        tokens: &[CHATML, QWEN, TAGS],
    },
    Family {
        rows: &["ernie45", "internlm2", "lfm2", "olmo3", "gigachat3", "reka-edge", "granite4"],
        tokens: &[CHATML, TAGS],
    },
    Family { rows: &["longcat"], tokens: &[CHATML, TAGS, LONGCAT] },
    Family { rows: &["k2-horizon"], tokens: &[CHATML, TAGS, K2_HORIZON] },
    Family { rows: &["internlm2"], tokens: &[INTERNLM] },
    Family { rows: &["ernie45"], tokens: &[ERNIE, SENTENCEPIECE] },
    Family { rows: &["lfm2"], tokens: &[LFM] },
    Family {
        rows: &[
            "hermes",
            "llama3-json",
            "nemotron-deci",
            "firefunction-v2",
            "functionary-v31",
            "xlam",
            "pythonic",
        ],
        tokens: &[LLAMA_3, FUNCTIONARY],
    },
    Family { rows: &["llama4-pythonic"], tokens: &[LLAMA_4] },
    Family { rows: &["mistral", "mistral-v11"], tokens: &[SENTENCEPIECE, MISTRAL] },
    Family {
        rows: &[
            "deepseek-v3",
            "deepseek-v31",
            "deepseek-v32-dsml",
            "deepseek-v4-dsml",
            "deepseek-v41-dsml",
        ],
        tokens: &[DEEPSEEK, TAGS],
    },
    Family { rows: &["step3"], tokens: &[DEEPSEEK, TAGS, STEP] },
    Family { rows: &["step3p5", "step5"], tokens: &[STEP] },
    Family { rows: &["kimi-k2"], tokens: &[KIMI, TAGS] },
    Family { rows: &["kimi-k3"], tokens: &[KIMI, KIMI_3] },
    Family { rows: &["glm45", "glm47"], tokens: &[GLM, TAGS, ROLES] },
    Family { rows: &["ling3"], tokens: &[LING, TAGS, ARGUMENTS] },
    Family { rows: &["spark25"], tokens: &[SPARK, TAGS, ARGUMENTS] },
    Family { rows: &["poolside-laguna"], tokens: &[LAGUNA, TAGS, ARGUMENTS] },
    Family { rows: &["hunyuan", "hunyuan-v3", "hunyuan-v4"], tokens: &[HUNYUAN, TAGS, ARGUMENTS] },
    Family { rows: &["harmony", "beam-rfl"], tokens: &[HARMONY] },
    Family { rows: &["muse", "muse-glimmer"], tokens: &[MUSE, HARMONY] },
    Family { rows: &["inkling"], tokens: &[INKLING] },
    Family { rows: &["gemma4"], tokens: &[GEMMA, GEMMA_4] },
    Family { rows: &["functiongemma"], tokens: &[GEMMA, FUNCTION_GEMMA] },
    Family { rows: &["cohere"], tokens: &[COHERE] },
    Family {
        rows: &["granite", "granite4", "granite-20b-fc", "granite-thinking"],
        tokens: &[GRANITE, TAGS],
    },
    Family { rows: &["phi4"], tokens: &[PHI, ROLES] },
    Family { rows: &["minimax-m2", "minimax-m3"], tokens: &[MINIMAX, TAGS] },
    Family { rows: &["seed-oss"], tokens: &[SEED] },
    Family { rows: &["gigachat3"], tokens: &[GIGACHAT, SENTENCEPIECE] },
    Family { rows: &["jamba"], tokens: &[JAMBA, CHATML] },
    Family { rows: &["apriel"], tokens: &[APRIEL] },
    Family { rows: &["dots"], tokens: &[DOTS] },
    Family { rows: &["plamo3"], tokens: &[PLAMO] },
    Family { rows: &["reka-edge"], tokens: &[REKA] },
    Family { rows: &["anthropic"], tokens: &[CLAUDE] },
    Family { rows: &[], tokens: &[APERTUS, SOLAR, NEMOTRON, MINICPM] },
];

#[cfg(test)]
mod tests {
    use super::super::presets::{names, preset};
    use super::*;

    #[test]
    fn every_row_has_tokens() {
        for name in names() {
            assert!(!tokens(name).is_empty(), "{name}");
            let row = preset(name).expect("a row");
            assert_eq!(row.check(), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_family_names_rows_that_there_are() {
        let rows = FAMILIES.iter().flat_map(|family| family.rows).chain(&FOR_ANY);
        for name in rows {
            assert!(preset(name).is_some(), "{name}");
        }
    }
}
