//! `shapes_registry.yaml`: models by name with their shapes, and operator shapes without a model.
