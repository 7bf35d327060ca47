//! Scenes that are right.
