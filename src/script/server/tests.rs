//! The simulated server in virtual time: exact instants, exact bytes.
