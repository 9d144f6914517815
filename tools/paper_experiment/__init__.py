"""The parts of `tools/paper`: load generators on the same loads, beside the truth and beside the paper's queueing model."""
