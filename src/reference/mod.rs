//! The independent truth: operators evaluated with candle or exact loops. Candle appears nowhere else.
