//! Rewrite rules on the graph, and the choice of which nodes one kernel computes.
