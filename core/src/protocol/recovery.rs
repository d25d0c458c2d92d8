//! Mistakes in calls: which of them are read as they were meant, and where. One table, for every shape.
//!
//! Where a text can be read in two ways nothing runs, and the model is told.

use super::limits::Strictness;

/// A mistake that models make when they write a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mistake {
    /// ```` ```json … ``` ```` around the body of a block.
    Fence,
    /// `{…}` where there should be `[{…}]`, or the other way round.
    Shape,
    /// `"input": {…}` where the key is `arguments`, or `"tool": …` where it is `name`.
    Key,
    /// No `arguments`, or `null` or `""` in their place, in a call without another key.
    NoArgs,
    /// `"arguments": "{\"a\": 1}"`
    ArgsAsText,
    /// `{path:'a.txt'}` where strings have another mark.
    SingleQuotes,
    /// `{"a": 1,}`
    ExtraComma,
    /// `{…}{…}` where `;` should be between two calls that have no marks.
    NoSeparator,
    /// `</function>Now this.<function=…`
    WordsBetween,
    /// No `</function>` after arguments that are complete.
    NoCallEnd,
    /// `</function></function>`
    TwoCallEnds,
    /// No `</tool_call>`, nor `</function>`, where the answer ends.
    NoBlockEnd,
    /// No `</parameter>` before a parameter that the tool has.
    NoValueEnd,
    /// No `</parameter>` before the end of the call.
    NoLastValueEnd,
    /// No `</parameter>` before a parameter that the tool does not have.
    NoValueEndUnknown,
    /// `</parameter></parameter>`
    TwoValueEnds,
    /// `<parameter=path` without its `>`: the key would run over a mark or a line break.
    NoKeyEnd,
    /// `<function=read` without its `>`, or a message whose head has no end.
    NoHeadEnd,
}

/// Where a mistake is read as it was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forgiven {
    /// In every reading.
    Always,
    /// In every reading, where the tool's schema says so.
    BySchema,
    /// In every reading, where the model ended its answer by itself.
    AtTheEnd,
    /// In lenient reading.
    Leniently,
    /// Nowhere.
    Never,
}

impl Mistake {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Fence,
        Self::Shape,
        Self::Key,
        Self::NoArgs,
        Self::ArgsAsText,
        Self::SingleQuotes,
        Self::ExtraComma,
        Self::NoSeparator,
        Self::WordsBetween,
        Self::NoCallEnd,
        Self::TwoCallEnds,
        Self::NoBlockEnd,
        Self::NoValueEnd,
        Self::NoLastValueEnd,
        Self::NoValueEndUnknown,
        Self::TwoValueEnds,
        Self::NoKeyEnd,
        Self::NoHeadEnd,
    ];

    /// Where it is read as it was meant.
    #[must_use]
    pub const fn forgiven(self) -> Forgiven {
        match self {
            Self::NoArgs | Self::NoSeparator => Forgiven::Always,
            Self::NoValueEnd => Forgiven::BySchema,
            Self::NoBlockEnd => Forgiven::AtTheEnd,
            Self::Fence
            | Self::Shape
            | Self::Key
            | Self::ArgsAsText
            | Self::SingleQuotes
            | Self::ExtraComma
            | Self::WordsBetween
            | Self::NoCallEnd
            | Self::TwoCallEnds
            | Self::NoLastValueEnd
            | Self::NoValueEndUnknown => Forgiven::Leniently,
            Self::TwoValueEnds | Self::NoKeyEnd | Self::NoHeadEnd => Forgiven::Never,
        }
    }

    /// Whether it is read as it was meant in this reading. What only the schema or the answer's end allows is asked for where that is
    /// known.
    #[must_use]
    pub const fn is_forgiven(self, strictness: Strictness) -> bool {
        match self.forgiven() {
            Forgiven::Always => true,
            Forgiven::BySchema | Forgiven::Leniently => matches!(strictness, Strictness::Lenient),
            Forgiven::AtTheEnd | Forgiven::Never => false,
        }
    }
}
