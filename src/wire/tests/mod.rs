//! Tables of bytes and the deltas that they are read as.

mod events;
