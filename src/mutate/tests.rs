//! The engine on the built-in templates.

use super::*;
