//! All integration tests: a module a promise.

mod flat;
mod graph_functions;
mod op_sweep;

#[global_allocator]
static ALLOCATOR: entigrad_tests::allocation::Counting = entigrad_tests::allocation::Counting;
