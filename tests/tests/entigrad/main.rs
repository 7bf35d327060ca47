//! All integration tests: a module a promise.

mod allocations;
mod bits;
mod calls;
mod cases;
mod effects;
mod errors;
mod flat;
mod gradients;
mod graph_functions;
mod op_sweep;
mod peaks;
mod plans;
mod printing;
mod products;
mod random_graphs;
mod random_programs;
mod scenes;
mod symbols;
mod tensors;
mod threads;
mod tidy;
mod training;
mod users_own;

#[global_allocator]
static ALLOCATOR: entigrad_tests::allocation::Counting = entigrad_tests::allocation::Counting;
