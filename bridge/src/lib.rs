//! Hosts bot-style agents behind A2A, every task kept.
