//! The lowrho program: hands the command line to the library and leaves with its status.
fn main() {}
