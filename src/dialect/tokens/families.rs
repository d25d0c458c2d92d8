//! The tokens of each family, as its chat templates and tokenizers have them.

pub(super) const CHATML: &[&str] =
    &["<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|endoftext|>", "<|startoftext|>"];

pub(super) const QWEN: &[&str] = &[
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<|audio_pad|>",
    "<|audio_start|>",
    "<|audio_end|>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
];

/// Reasoning, calls and results as most templates mark them.
pub(super) const TAGS: &[&str] =
    &["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"];

pub(super) const ARGUMENTS: &[&str] = &["<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"];

pub(super) const ROLES: &[&str] =
    &["<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|endoftext|>"];

/// What tokenizers made by `SentencePiece` have.
pub(super) const SENTENCEPIECE: &[&str] = &["<s>", "</s>", "<unk>", "<pad>"];

pub(super) const LONGCAT: &[&str] =
    &["<longcat_", "</longcat_", "[Round ", " USER:", " ASSISTANT:"];

pub(super) const K2_HORIZON: &[&str] = &["<|ifm|", "<ifm|", "</ifm|"];

pub(super) const INTERNLM: &[&str] =
    &["<|action_start|>", "<|action_end|>", "<|interpreter|>", "<|plugin|>", "<s>", "</s>"];

pub(super) const ERNIE: &[&str] = &["<|begin_of_sentence|>", "<|end_of_sentence|>", "<mask:"];

pub(super) const LFM: &[&str] = &[
    "<|tool_list_start|>",
    "<|tool_list_end|>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<|tool_response_start|>",
    "<|tool_response_end|>",
    "<image>",
];

pub(super) const LLAMA_3: &[&str] = &[
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|python_tag|>",
    "<|image|>",
    "<|step_id|>",
    "<|finetune_right_pad_id|>",
    "<|reserved_special_token_",
];

pub(super) const FUNCTIONARY: &[&str] =
    &["<|from|>", "<|recipient|>", "<|content|>", "<|stop|>", "<|NONE|>"];

pub(super) const LLAMA_4: &[&str] = &[
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|header_start|>",
    "<|header_end|>",
    "<|eot|>",
    "<|eom|>",
    "<|step|>",
    "<|python_start|>",
    "<|python_end|>",
    "<|image_start|>",
    "<|image_end|>",
    "<|image|>",
    "<|patch|>",
    "<|tile_x_separator|>",
    "<|tile_y_separator|>",
    "<|finetune_right_pad|>",
];

pub(super) const MISTRAL: &[&str] = &[
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[TOOL_CONTENT]",
    "[CALL_ID]",
    "[ARGS]",
    "[THINK]",
    "[/THINK]",
    "[MODEL_SETTINGS]",
    "[/MODEL_SETTINGS]",
    "[IMG]",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[AUDIO]",
    "[BEGIN_AUDIO]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[REFERENCE_DOC_",
];

pub(super) const DEEPSEEK: &[&str] = &[
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜▁pad▁｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<｜System｜>",
    "<｜Developer｜>",
    "<｜latest_reminder｜>",
    "<｜fim▁",
    "<｜search▁",
    "<｜tool▁",
    "<｜DSML｜",
    "</｜DSML｜",
    "<|EOT|>",
];

pub(super) const STEP: &[&str] = &[
    "<|BOT|>",
    "<|EOT|>",
    "<|im_start|>",
    "<|im_end|>",
    "<｜tool_call_",
    "<｜tool_calls_",
    "<｜tool_output",
    "<｜tool_sep｜>",
    "<im_patch>",
    "<im_start>",
    "<im_end>",
];

pub(super) const KIMI: &[&str] = &[
    "[BOS]",
    "[EOS]",
    "[EOT]",
    "[PAD]",
    "[UNK]",
    "<|im_system|>",
    "<|im_user|>",
    "<|im_assistant|>",
    "<|im_middle|>",
    "<|im_end|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|media_start|>",
    "<|media_content|>",
    "<|media_end|>",
    "<|media_pad|>",
];

pub(super) const KIMI_3: &[&str] =
    &["<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>", "<|kimi_image_placeholder|>"];

pub(super) const GLM: &[&str] = &[
    "[gMASK]",
    "[sMASK]",
    "[MASK]",
    "<sop>",
    "<eop>",
    "<|observation|>",
    "<|begin_of_",
    "<|end_of_",
    "<|code_prefix|>",
    "<|code_middle|>",
    "<|code_suffix|>",
    "/nothink",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
];

pub(super) const LING: &[&str] =
    &["<role>", "</role>", "<|role_end|>", "<|startoftext|>", "<|endoftext|>"];

pub(super) const SPARK: &[&str] = &[
    "<|System|>",
    "<|User|>",
    "<|Bot|>",
    "<|Tool|>",
    "<｜start▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
];

pub(super) const LAGUNA: &[&str] = &[
    "〈|EOS|〉",
    "<system>",
    "</system>",
    "<user>",
    "</user>",
    "<assistant>",
    "</assistant>",
    "<available_tools>",
    "</available_tools>",
];

pub(super) const HUNYUAN: &[&str] = &[
    "<｜hy_",
    "<｜reasoning_mode",
    "<think:",
    "</think:",
    "<tool_call",
    "</tool_call",
    "<tool_response",
    "</tool_response",
    "<tool_sep",
    "<arg_key:",
    "</arg_key:",
    "<arg_value:",
    "</arg_value:",
    "<|startoftext|>",
    "<|endoftext|>",
    "<|bos|>",
    "<|eos|>",
    "<|pad|>",
    "<|extra_",
    "<answer>",
    "</answer>",
];

pub(super) const HARMONY: &[&str] = &[
    "<|start|>",
    "<|end|>",
    "<|message|>",
    "<|channel|>",
    "<|constrain|>",
    "<|call|>",
    "<|return|>",
    "<|final|>",
    "<|refusal|>",
    "<|startoftext|>",
    "<|endoftext|>",
    "<|endofprompt|>",
];

pub(super) const MUSE: &[&str] =
    &["<|begin_of_text|>", "<|end_of_text|>", "<|eom|>", "<|eot|>", "<|patch|>", "<|video|>"];

pub(super) const INKLING: &[&str] = &["<|message_", "<|content_", "<|end_message|>"];

pub(super) const GEMMA: &[&str] = &[
    "<bos>",
    "<eos>",
    "<pad>",
    "<unk>",
    "<mask>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<start_of_image>",
    "<end_of_image>",
    "<image_soft_token>",
];

pub(super) const GEMMA_4: &[&str] = &[
    "<|turn>",
    "<turn|>",
    "<|channel>",
    "<channel|>",
    "<|think|>",
    "<|tool>",
    "<tool|>",
    "<|tool_call>",
    "<tool_call|>",
    "<|tool_response>",
    "<tool_response|>",
    "<|\"|>",
    "<|image|>",
    "<|image>",
    "<image|>",
    "<|audio|>",
    "<|audio>",
    "<audio|>",
    "<|video|>",
];

pub(super) const FUNCTION_GEMMA: &[&str] = &[
    "<start_function_declaration>",
    "<end_function_declaration>",
    "<start_function_call>",
    "<end_function_call>",
    "<start_function_response>",
    "<end_function_response>",
    "<escape>",
];

pub(super) const COHERE: &[&str] = &[
    "<BOS_TOKEN>",
    "<EOS_TOKEN>",
    "<PAD>",
    "<UNK>",
    "<|START_OF_TURN_TOKEN|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|SYSTEM_TOKEN|>",
    "<|USER_TOKEN|>",
    "<|CHATBOT_TOKEN|>",
    "<|START_THINKING|>",
    "<|END_THINKING|>",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
    "<|START_TEXT|>",
    "<|END_TEXT|>",
    "<|START_ACTION|>",
    "<|END_ACTION|>",
    "<|START_TOOL_RESULT|>",
    "<|END_TOOL_RESULT|>",
    "<|IMG_PATCH|>",
    "<co>",
    "</co",
];

pub(super) const GRANITE: &[&str] = &[
    "<|start_of_role|>",
    "<|end_of_role|>",
    "<|start_of_text|>",
    "<|end_of_text|>",
    "<|start_of_cite|>",
    "<|end_of_cite|>",
    "<|start_of_plugin|>",
    "<|end_of_plugin|>",
    "<|tool_call|>",
    "<|endoftext|>",
    "<|fim_",
];

pub(super) const PHI: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|im_sep|>",
    "<|tool|>",
    "<|/tool|>",
    "<|tool_call|>",
    "<|/tool_call|>",
    "<|tool_response|>",
    "<|tag|>",
];

pub(super) const MINIMAX: &[&str] = &[
    "]~!b[",
    "]~b]",
    "[e~[",
    "]!p~[",
    "]!d~[",
    "]<]",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<mm:think>",
    "</mm:think>",
    "<begin_of_document>",
    "<end_of_document>",
    "<beginning_of_sentence>",
    "<end_of_sentence>",
];

pub(super) const SEED: &[&str] = &["<seed:", "</seed:", "<[begin", "<[end", "<[PLHD"];

pub(super) const GIGACHAT: &[&str] =
    &["<|message_sep|>", "<|role_sep|>", "<|function_call|>", "<|file_sep|>"];

pub(super) const JAMBA: &[&str] = &["<|bom|>", "<|eom|>", "<|pad|>"];

pub(super) const APRIEL: &[&str] = &[
    "<|begin_system|>",
    "<|begin_user|>",
    "<|begin_assistant|>",
    "<|begin_content|>",
    "<|begin_tool_result|>",
    "<|end|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "[BEGIN FINAL RESPONSE]",
    "[END FINAL RESPONSE]",
    "<tool_calls>",
    "</tool_calls>",
    "<available_tools>",
    "</available_tools>",
    "<thinking>",
    "</thinking>",
    "[IMG]",
    "<s>",
    "</s>",
];

pub(super) const DOTS: &[&str] = &[
    "<|system|>",
    "<|endofsystem|>",
    "<|userprompt|>",
    "<|endofuserprompt|>",
    "<|response|>",
    "<|endofresponse|>",
    "<|endoftext|>",
];

pub(super) const PLAMO: &[&str] = &["<|plamo:"];

pub(super) const REKA: &[&str] = &["<sep>", "<image>", "</image>", "<video>", "</video>"];

/// Claude 2 knows turns by words, not by tokens.
pub(super) const CLAUDE: &[&str] = &["\n\nHuman:", "\n\nAssistant:"];

pub(super) const APERTUS: &[&str] = &[
    "<|system_start|>",
    "<|system_end|>",
    "<|developer_start|>",
    "<|developer_end|>",
    "<|user_start|>",
    "<|user_end|>",
    "<|assistant_start|>",
    "<|assistant_end|>",
    "<|inner_prefix|>",
    "<|inner_suffix|>",
    "<|tools_prefix|>",
    "<|tools_suffix|>",
];

pub(super) const SOLAR: &[&str] = &[
    "<|begin|>",
    "<|calls|>",
    "<|think|>",
    "<|tool:",
    "<|tool_call:",
    "<|tool_calls|>",
    "<|tool_response:",
    "<|tools:",
];

pub(super) const NEMOTRON: &[&str] = &["<SPECIAL_"];

pub(super) const MINICPM: &[&str] = &["<tool_def_sep>", "<tool_sep>", "<|tool_call_start|>"];
