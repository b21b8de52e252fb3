//! Older generations of A2A, translated to 1.0 and back.
