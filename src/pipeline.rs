//! The stages in order, as one library call.
