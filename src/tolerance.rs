//! Named tolerances and the error bounds that a verdict rests on.
