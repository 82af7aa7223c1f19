//! What documents become, from the outside.
