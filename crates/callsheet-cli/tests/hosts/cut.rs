//! A host that is cut off for longer than its lease.
