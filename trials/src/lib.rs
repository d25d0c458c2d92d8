//! Two designs for the readers of calls, tried on two shapes.
pub mod block;
pub mod cursor;
pub mod extent;
pub mod fields;
pub mod item;
pub mod oracle;
pub mod values;
