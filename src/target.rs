//! Hardware facts by target name.
